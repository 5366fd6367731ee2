import type { ComponentChildren } from "preact";
import { call } from "../../api/client.ts";
import { filterable } from "../../filter_fields.ts";
import { useLoaded } from "../../load.ts";
import { address, href, withQuery } from "../../router.ts";
import { canWrite } from "../../session.ts";
import { folded, named, parts, pluralParts, number, quoted, t } from "../../texts.ts";
import { filterText } from "./condition_words.ts";
import { quoted as quotedText } from "./conditions.ts";
import { joined, partsOf } from "./filter_parts.ts";
import { pageQuery, type Query } from "./list.ts";
import { anywhere, isAddress } from "./search_text.ts";
import { allTags } from "./suggestions.ts";

/** What an empty list says: how to begin, or how to see people again. */
export function EmptyList({ query, onAdd }: { query: Query; onAdd: () => void }) {
  const { filter, q, status, segmentId } = query;
  if (!filter && !q && !status && !segmentId) {
    return (
      <div class="empty">
        <h2>{t("empty.title")}</h2>
        <p>{t("empty.text")}</p>
        {canWrite.value && (
          <p class="line">
            <a class="button main" href={href("/import")}>
              {t("steps.import")}
            </a>
            <button type="button" onClick={onAdd}>
              {t("addPerson.title")}
            </button>
          </p>
        )}
        <a href={`${href("/")}../docs/guides/import`} target="_blank" rel="noreferrer">
          {t("empty.guide")}
        </a>
      </div>
    );
  }
  const person = `/subscribers/${encodeURIComponent(q)}`;
  return (
    <div class="empty">
      <h2>{t("noMatch.title")}</h2>
      {isAddress(q) && address.value.path !== person && (
        <p>
          <a href={href(person)}>{t("noMatch.address")}</a>
        </p>
      )}
      {anywhere(query) && (
        <p>
          <a href={href(withQuery({ q: "", filter: anywhere(query) }, "/subscribers"))}>{t("search.anywhere")}</a>{" "}
          <kbd>↵</kbd>
        </p>
      )}
      <Tagged query={query} />
      <Fewer query={query} />
      <a href={href("/subscribers")}>{t("noMatch.all")}</a>
    </div>
  );
}

/** The people with a tag whose name was searched for as the name of a person. */
function Tagged({ query: { filter, q } }: { query: Query }) {
  const tags = useLoaded(() => (q && !isAddress(q) ? allTags() : Promise.resolve([])), q).data;
  const tag = tags?.find((each) => folded(each) === folded(q));
  if (!tag) return null;
  const changes = { q: "", filter: joined([...(partsOf(filter) ?? [filter]), `tags:${quotedText(tag)}`]) };
  return (
    <p>
      <a href={href(withQuery(changes, "/subscribers"))}>{parts("noMatch.tag", { tag: <bdi dir="auto">{tag}</bdi> })}</a>
    </p>
  );
}

/** A condition, and the search without it. */
interface Wider {
  without: ComponentChildren;
  changes: { filter?: string; q?: string; status?: "" };
}

/** The first condition without which people match, and how many. */
function Fewer({ query }: { query: Query }) {
  const found = useLoaded((signal) => firstWider(query, signal), JSON.stringify(query)).data;
  if (!found) return null;
  const { without: condition, changes, total } = found;
  return (
    <p>
      <a href={href(withQuery(changes, "/subscribers"))}>
        {pluralParts("noMatch.without", total, { count: number(total), condition })}
      </a>
    </p>
  );
}

async function firstWider(query: Query, signal: AbortSignal): Promise<(Wider & { total: number }) | null> {
  for (const wider of widerSearches(query)) {
    const search = { ...pageQuery({ ...query, ...wider.changes }, 0, "EXACT"), limit: 1 };
    const { total } = await call("GET /api/subscribers", { query: search, signal });
    if (total) return { ...wider, total };
  }
  return null;
}

/** The status, and then the condition that was added last, are left out first. */
function widerSearches({ filter, q, status, segmentId }: Query): Wider[] {
  const conditions = partsOf(filter) ?? [filter];
  const all: Wider[] = conditions.map((part, index) => ({
    without: (
      <bdi dir="auto" title={part}>
        {filterText(part, filterable.value)}
      </bdi>
    ),
    changes: { filter: joined(conditions.toSpliced(index, 1)) },
  }));
  if (q) all.unshift({ without: quoted(<bdi>{q}</bdi>), changes: { q: "" } });
  if (status) all.push({ without: quoted(named("status", status)), changes: { status: "" } });
  // Without its only condition, a search has everyone.
  return all.length > 1 || segmentId ? all.toReversed() : [];
}
