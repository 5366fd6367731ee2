import { useLayoutEffect } from "preact/hooks";
import { call } from "../api/client.ts";
import type { Segment } from "../api/types.ts";
import { Icon } from "../components/icon.tsx";
import { Part } from "../components/part.tsx";
import { UsedBy } from "../components/used_by.tsx";
import { filterable, loadFields } from "../filter_fields.ts";
import { focusMain } from "../focus.ts";
import { useLoaded } from "../load.ts";
import { pages } from "../pages.ts";
import { href } from "../router.ts";
import type { Parameters } from "../routes.ts";
import { SegmentCount, type SegmentCounts, useSegmentCounts } from "../segment_counts.tsx";
import { canWrite } from "../session.ts";
import { t } from "../texts.ts";
import { EditSegment, NewSegment } from "./segments/edit.tsx";
import { filterText } from "./subscribers/condition_words.ts";

/** The segments, or the segment of the address with its filter. */
export function Segments({ id }: Parameters) {
  useLayoutEffect(focusMain, [id]);
  if (id === "new") return <NewSegment />;
  return id ? <EditSegment key={id} id={id} /> : <List />;
}

function List() {
  const loaded = useLoaded(async (signal) => {
    const segments = pages(async (query) => {
      const response = await call("GET /api/segments", { query: { ...query, include: ["USED_BY"] }, signal });
      return { items: response.segments, total: response.total ?? 0 };
    });
    const [all] = await Promise.all([segments, loadFields(signal)]);
    return all;
  });
  const counts = useSegmentCounts(loaded.data);
  return (
    <div class="page">
      <header class="page-head">
        <h1>{t("segments.title")}</h1>
        {canWrite.value && (
          <a class="button main" href={href("/segments/new")}>
            {t("segment.new")}
          </a>
        )}
      </header>
      <p class="hint">{t("segments.none")}</p>
      <Part of={loaded} bars={6}>
        {(segments) =>
          segments.length > 0 && (
            <table class="table records">
              <thead>
                <tr>
                  <th>{t("column.name")}</th>
                  <th class="number">{t("people")}</th>
                  <th class="wide">{t("usedBy")}</th>
                  <th>
                    <span class="unseen">{t("actions")}</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {segments.map((segment) => (
                  <Row key={segment.id} segment={segment} counts={counts} />
                ))}
              </tbody>
            </table>
          )
        }
      </Part>
    </div>
  );
}

function Row({ segment, counts }: { segment: Segment; counts: SegmentCounts }) {
  const name = <bdi dir="auto">{segment.name}</bdi>;
  return (
    <tr>
      <th scope="row" class="grow">
        {segment.filter ? (
          <a class="cut" href={href(`/subscribers?segment=${segment.id}`)}>
            {name}
          </a>
        ) : (
          <span class="cut">{name}</span>
        )}
        <small class="below lines" title={segment.filter}>
          <bdi dir="auto">{filterText(segment.filter, filterable.value)}</bdi>
        </small>
      </th>
      <td class="number">
        <SegmentCount segment={segment} counts={counts} />
      </td>
      <td class="wide">
        <UsedBy uses={segment.usedBy} />
      </td>
      <td class="number">
        <a
          class="button plain"
          href={href(`/segments/${segment.id}`)}
          aria-label={t(canWrite.value ? "segment.edit" : "segment.view", { name: segment.name })}
        >
          <Icon name="edit" />
        </a>
      </td>
    </tr>
  );
}
