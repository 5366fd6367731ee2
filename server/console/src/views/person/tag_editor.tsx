import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { announce } from "../../announce.ts";
import { call } from "../../api/client.ts";
import { Problem } from "../../components/form_dialog.tsx";
import { Icon } from "../../components/icon.tsx";
import { t } from "../../texts.ts";
import { newTag } from "../subscribers/columns.tsx";
import type { PersonData } from "./person_data.ts";

/** The tags of a person: each can be removed, and others added. */
export function TagEditor({ data, tags, isReadOnly }: { data: PersonData; tags: string[]; isReadOnly: boolean }) {
  const list = useId();
  const text = useSignal("");
  const error = useSignal<unknown>(undefined);
  const known = useSignal<string[]>([]);

  async function run(action: () => Promise<void>): Promise<void> {
    error.value = undefined;
    try {
      await action();
      announce(t("field.saved"));
    } catch (problem) {
      error.value = problem;
    }
  }

  async function suggest(): Promise<void> {
    if (known.value.length) return;
    const found = await call("GET /api/tags", { query: { limit: 100 } }).catch(() => null);
    known.value = found?.tags.map((tag) => tag.name) ?? [];
  }

  return (
    <section class="field">
      <h3>{t("column.tags")}</h3>
      <div class="tags wrap">
        {tags.map((tag) => (
          <span class="tag" key={tag}>
            <bdi>{tag}</bdi>
            {!isReadOnly && (
              <button
                type="button"
                class="plain"
                aria-label={t("tag.remove", { tag })}
                onClick={() => void run(() => data.removeTag(tag))}
              >
                <Icon name="close" />
              </button>
            )}
          </span>
        ))}
        {isReadOnly && !tags.length && "–"}
        {!isReadOnly && (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              const tag = text.value.trim();
              if (!tag) return;
              void run(async () => {
                newTag.value = tag;
                await data.addTag(tag);
                // The next one can be typed already.
                if (text.value.trim() === tag) text.value = "";
              });
            }}
          >
            <input
              id="new-tag"
              list={list}
              dir="auto"
              autocomplete="off"
              maxLength={100}
              aria-label={t("tag.add")}
              placeholder={t("tag.add")}
              value={text.value}
              onFocus={() => void suggest()}
              onInput={(event) => (text.value = event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key !== "Escape") return;
                if (text.value) text.value = "";
                else event.currentTarget.blur();
              }}
            />
            <datalist id={list}>
              {known.value
                .filter((tag) => !tags.includes(tag))
                .map((tag) => (
                  <option key={tag} value={tag} />
                ))}
            </datalist>
          </form>
        )}
      </div>
      <Problem error={error.value} />
    </section>
  );
}
