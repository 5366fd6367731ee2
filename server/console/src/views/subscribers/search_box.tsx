import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { ApiError, ConnectionError } from "../../api/client.ts";
import type { ErrorDetail } from "../../api/types.ts";
import { Icon } from "../../components/icon.tsx";
import { useListbox } from "../../components/listbox.tsx";
import { errorText, language, named, t } from "../../texts.ts";
import { useCompletions } from "./completions.tsx";
import type { FilterField } from "./conditions.ts";
import { columnOf } from "./search_text.ts";

const TYPING = 250;
/** The text in the box. */
export const searchText = signal("");
/** Set to show the cursor in the box, also before its view is shown. */
export const wantsSearch = signal(false);

/** One box for an address, a name or an expression, with the error at its column. */
export function SearchBox({
  value,
  error,
  fields,
  onType,
  onEnter,
  onLeave,
  onAnywhere,
}: {
  value: string;
  error: unknown;
  /** The fields that can be in an expression. */
  fields: readonly FilterField[];
  /** A pause in typing. Like Enter, it returns the text that is searched for then. */
  onType: (text: string) => string;
  onEnter: (text: string) => string;
  onLeave: () => void;
  /** Searches anywhere in addresses and names; absent while enough people are found without. */
  onAnywhere: (() => void) | undefined;
}) {
  const input = useRef<HTMLInputElement>(null);
  const text = searchText;
  const typing = useRef<ReturnType<typeof setTimeout>>(undefined);
  /** The text of the last search from here. */
  const sent = useRef<string>(undefined);
  const detail = filterError(error);

  // Before the next key, which is typed into the box.
  useLayoutEffect(() => {
    // Typing goes on while a search for its beginning is shown.
    if (value !== sent.current) text.value = value;
    sent.current = value;
  }, [value]);
  // Enter can follow at once.
  useLayoutEffect(() => {
    if (wantsSearch.value) input.current?.focus();
    wantsSearch.value = false;
    // A search that waits must not change the address of another view.
    return () => clearTimeout(typing.current);
  }, []);

  const completions = useCompletions(text, input, fields);
  const options = [...completions.options];
  if (onAnywhere && completions.isOpen && text.value.trim() === value) {
    options.push({ key: "anywhere", text: t("search.anywhere"), run: onAnywhere });
  }
  const listbox = useListbox(options, text.value, { label: t("search.completions"), startsActive: false });

  function run(action: (text: string) => string): void {
    clearTimeout(typing.current);
    sent.current = action(text.value);
    if (action === onEnter) text.value = sent.current;
  }

  return (
    <search class="search">
      <Icon name="search" />
      <input
        ref={input}
        {...listbox.input}
        id="search"
        type="text"
        dir="auto"
        spellcheck={false}
        maxLength={4000}
        aria-label={t("search.label")}
        aria-invalid={detail ? "true" : undefined}
        aria-errormessage="search-error"
        placeholder={t("search.placeholder")}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          completions.open();
          clearTimeout(typing.current);
          typing.current = setTimeout(() => run(onType), TYPING);
        }}
        onBlur={completions.close}
        onKeyDown={(event) => {
          if (listbox.onKeyDown(event)) return;
          if (event.key === "Escape" && options.length) completions.close();
          else if (event.key === "Enter") {
            completions.close();
            run(onEnter);
          }
          else if (event.key === "Escape" && text.value) {
            text.value = "";
            run(onEnter);
          } else if (event.key === "Escape" || event.key === "ArrowDown") onLeave();
          else return;
          event.preventDefault();
        }}
      />
      {listbox.list}
      {text.value && (
        <button
          type="button"
          class="plain"
          aria-label={t("search.clear")}
          onClick={() => {
            text.value = "";
            run(onEnter);
            input.current?.focus();
          }}
        >
          <Icon name="close" />
        </button>
      )}
      {Boolean(error) && !(error instanceof ConnectionError) && (
        <p id="search-error" class="error" role="alert">
          {detail ? <Explained detail={detail} text={value} /> : errorText(error)}
        </p>
      )}
    </search>
  );
}

/** The expression up to the error, the place of the error, and what is wrong there. */
export function Explained({ detail, text }: { detail: ErrorDetail; text: string }) {
  const column = columnOf(detail.message);
  return (
    <>
      {column > 0 && (
        <code class="at" dir="ltr">
          {text.slice(0, column - 1)}
          <mark>{/^\w+/.exec(text.slice(column - 1))?.[0] || text[column - 1] || " "}</mark>
        </code>
      )}
      <span>
        {language.value !== "en" && `${named("detail", detail.code)}: `}
        <span lang="en">{detail.message.replace(/^./, (first) => first.toUpperCase())}</span>
      </span>
    </>
  );
}

export function filterError(error: unknown): ErrorDetail | undefined {
  if (!(error instanceof ApiError) || error.status !== 400) return undefined;
  return error.details.find((each) => ["filter", "q"].includes(each.field));
}
