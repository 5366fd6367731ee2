import { Icon } from "../../components/icon.tsx";
import { Menu } from "../../components/menu.tsx";
import { href } from "../../router.ts";
import { t } from "../../texts.ts";

/** Leads between tags and custom fields, which share a place in the navigation. */
export function AttributeTabs({ current }: { current: "tags" | "fields" }) {
  return (
    <nav class="choices-row" aria-label={t("attributes.title")}>
      <a href={href("/tags")} aria-current={current === "tags" ? "page" : undefined}>
        {t("tags.title")}
      </a>
      <a href={href("/fields")} aria-current={current === "fields" ? "page" : undefined}>
        {t("fields.title")}
      </a>
    </nav>
  );
}

/** What can be done with a row. */
export function RowMenu({ name, onOpen }: { name: string; onOpen: (what: "edit" | "delete") => void }) {
  return (
    <Menu class="plain" title={t("actions.of", { name })} label={<Icon name="more" />}>
      <button type="button" onClick={() => onOpen("edit")}>
        {t("edit")}
      </button>
      <button type="button" class="danger" onClick={() => onOpen("delete")}>
        {t("delete")}…
      </button>
    </Menu>
  );
}
