import { call } from "../../api/client.ts";
import { Icon } from "../../components/icon.tsx";
import { useLoaded } from "../../load.ts";
import { href, withQuery } from "../../router.ts";
import { canWrite } from "../../session.ts";
import { t } from "../../texts.ts";

/** The segment whose people the list shows, with ways to change its filter and to show all. */
export function SegmentBar({ id }: { id: string }) {
  const path = { id };
  const loaded = useLoaded((signal) => call("GET /api/segments/{id}", { path, signal }), id);
  const segment = loaded.data?.segment;
  if (!segment) return null;
  return (
    <p class="segment-bar">
      <Icon name="filter" />
      <bdi class="cut" dir="auto" title={segment.filter}>
        {segment.name}
      </bdi>
      <a
        class="button plain"
        href={href(`/segments/${id}`)}
        aria-label={t(canWrite.value ? "segment.edit" : "segment.view", { name: segment.name })}
      >
        <Icon name="edit" />
      </a>
      <a class="button plain" href={href(withQuery({ segment: "" }, "/subscribers"))} aria-label={t("segment.leave")}>
        <Icon name="close" />
      </a>
    </p>
  );
}
