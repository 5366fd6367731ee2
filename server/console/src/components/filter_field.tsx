import { useLayoutEffect, useRef } from "preact/hooks";
import { announce, linesOf } from "../announce.ts";
import { call } from "../api/client.ts";
import { useLoaded } from "../load.ts";
import { useDebounced } from "../debounced.ts";
import { href } from "../router.ts";
import { errorText, plural, t } from "../texts.ts";
import { Explained, filterError } from "../views/subscribers/search_box.tsx";

/** A filter that can be edited, with the number of people who match it, or its error. */
export function FilterField({
  value,
  readOnly,
  onInput,
}: {
  value: string;
  readOnly: boolean;
  onInput: (value: string) => void;
}) {
  const filter = useDebounced(value.trim());
  const matches = useLoaded(async (signal) => {
    return filter ? (await call("GET /api/statistics", { query: { filter }, signal })).total : null;
  }, filter);
  const detail = filterError(matches.error);
  const result = useRef<HTMLParagraphElement>(null);
  useLayoutEffect(() => announce(linesOf(result.current)), [matches.data]);
  return (
    <div class="field">
      <label for="filter">{t("segment.filter")}</label>
      <textarea
        id="filter"
        class="mono"
        rows={4}
        required
        maxLength={4000}
        spellcheck={false}
        dir="auto"
        readOnly={readOnly}
        aria-invalid={detail ? "true" : undefined}
        aria-errormessage="filter-result"
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {matches.error ? (
        <p key="error" id="filter-result" class="error filter-result" role="alert">
          {detail ? <Explained detail={detail} text={filter} /> : errorText(matches.error)}
        </p>
      ) : (
        <p ref={result} class="filter-result">
          {matches.data != null && plural("segment.matches", matches.data)}
        </p>
      )}
      <a class="small" href={`${href("/")}../docs/guides/filters`} target="_blank" rel="noreferrer">
        {t("segment.guide")}
      </a>
    </div>
  );
}
