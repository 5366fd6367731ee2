import type { Segment } from "../../api/types.ts";
import { Icon } from "../../components/icon.tsx";
import { Menu } from "../../components/menu.tsx";
import { href, withQuery } from "../../router.ts";
import { plural, t } from "../../texts.ts";

interface Props {
  segments: Segment[];
  /** The number of all segments, of which the first ones are shown. */
  total: number;
  /** The identifier of the segment whose people are shown. */
  current: string;
  /** The filter of the people who are shown; empty if they match a search or a segment. */
  filter: string;
  /** Whether only some of the people are shown, without a segment too. */
  isFiltered: boolean;
}

/** The segments at the side of the list. */
export function SegmentSide(props: Props) {
  return (
    <nav class="side" aria-label={t("segments.title")}>
      <h2>{t("segments.title")}</h2>
      <Links {...props} />
    </nav>
  );
}

/** The segments in a menu, where there is no room at the side. */
export function SegmentMenu(props: Props) {
  return (
    <Menu class="segment-menu" title={t("segments.title")} label={<Icon name="list" />}>
      <Links {...props} />
    </Menu>
  );
}

function Links({ segments, total, current, filter: searched, isFiltered }: Props) {
  // A segment that lost its filter has no people.
  const shown = [{ id: "", name: t("segments.everyone"), filter: "" }, ...segments.filter(({ filter }) => filter)];
  // Two segments can have one filter.
  const marked = current || segments.find(({ filter }) => filter && filter === searched)?.id;
  return (
    <>
      {shown.map(({ id, name }) => (
        <a
          key={id}
          href={href(withQuery({ segment: id, filter: "", q: "", status: "" }, "/subscribers"))}
          aria-current={(id ? id === marked : !marked && !isFiltered) ? "true" : undefined}
        >
          <bdi class="cut" dir="auto">
            {name}
          </bdi>
        </a>
      ))}
      {total > segments.length && <a href={href("/segments")}>{plural("segments.all", total)}</a>}
    </>
  );
}
