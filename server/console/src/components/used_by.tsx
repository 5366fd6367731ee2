import type { Use } from "../api/types.ts";
import { href } from "../router.ts";
import { plural } from "../texts.ts";

/** What refers to a tag, a custom field or a segment, in numbers. */
export function UsedBy({ uses = [] }: { uses: Use[] | undefined }) {
  const segments = uses.filter((use) => use.type === "SEGMENT");
  const operations = uses.length - segments.length;
  const said = [];
  if (segments.length) said.push(plural("usedBy.segments", segments.length));
  if (operations) said.push(plural("usedBy.operations", operations));
  return <span title={segments.map((use) => use.name).join(", ")}>{said.join(", ")}</span>;
}

/** What the deletion of a tag, a custom field or a segment ends, in a dialog. */
export function UsesLost({ uses = [] }: { uses: Use[] | undefined }) {
  const segments = uses.filter((use) => use.type === "SEGMENT");
  const operations = uses.length - segments.length;
  return (
    <>
      {segments.length > 0 && (
        <>
          <p>{plural("delete.segments", segments.length)}</p>
          <ul class="bullets">
            {segments.map((use) => (
              <li key={use.id}>
                <a href={href(`/segments/${use.id}`)}>
                  <bdi dir="auto">{use.name}</bdi>
                </a>
              </li>
            ))}
          </ul>
        </>
      )}
      {operations > 0 && <p>{plural("delete.operations", operations)}</p>}
    </>
  );
}
