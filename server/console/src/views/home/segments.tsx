import { call } from "../../api/client.ts";
import { Part } from "../../components/part.tsx";
import { useLoaded } from "../../load.ts";
import { href } from "../../router.ts";
import { SegmentCount, useSegmentCounts } from "../../segment_counts.tsx";
import { plural, t } from "../../texts.ts";

const SHOWN = 8;

/** The first segments with their sizes. */
export function LargestSegments() {
  const loaded = useLoaded((signal) => call("GET /api/segments", { query: { limit: SHOWN }, signal }));
  const counts = useSegmentCounts(loaded.data?.segments);
  return (
    <section class="block" aria-labelledby="segments">
      <header>
        <h2 id="segments">{t("segments.title")}</h2>
      </header>
      <Part of={loaded}>
        {({ segments, total = 0 }) =>
          segments.length === 0 ? (
            <p class="hint">{t("segments.none")}</p>
          ) : (
            <>
              <ul class="entries">
                {segments.map((segment) => (
                  <li key={segment.id}>
                    <a class="cut" href={href(`/subscribers?segment=${segment.id}`)}>
                      <bdi dir="auto">{segment.name}</bdi>
                    </a>
                    <SegmentCount segment={segment} counts={counts} />
                  </li>
                ))}
              </ul>
              <a href={href("/segments")}>{plural("segments.all", total)}</a>
            </>
          )
        }
      </Part>
    </section>
  );
}
