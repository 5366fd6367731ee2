import type { CustomField } from "../../api/types.ts";
import { Icon } from "../../components/icon.tsx";
import { Menu } from "../../components/menu.tsx";
import { preference, setPreference } from "../../preferences.ts";
import { address, go, withQuery } from "../../router.ts";
import { session } from "../../session.ts";
import { t } from "../../texts.ts";
import { allColumns, DEFAULT_COLUMNS } from "./columns.tsx";

function preferenceName(): string {
  return `columns-${session.value?.account.id ?? ""}`;
}

/** The names of the shown columns, from the address or as they were chosen before. */
export function chosenColumns(): string[] {
  const named = address.value.query.get("columns") ?? preference(preferenceName());
  return named ? named.split(",") : DEFAULT_COLUMNS;
}

/** Chooses the columns of the list. */
export function ColumnMenu({ fields }: { fields: CustomField[] }) {
  const chosen = chosenColumns();
  function toggle(name: string): void {
    const names = allColumns(fields).map((column) => column.name);
    const kept = names.filter((each) => chosen.includes(each) !== (each === name)).join(",") || "-";
    setPreference(preferenceName(), kept);
    go(withQuery({ columns: kept === DEFAULT_COLUMNS.join(",") ? "" : kept }) + location.hash, { replace: true });
  }
  return (
    <Menu class="columns" title={t("columns.title")} label={<Icon name="columns" />}>
      {allColumns(fields).map((column) => (
        <label key={column.name}>
          <bdi class="cut">{column.title}</bdi>
          <input
            type="checkbox"
            checked={chosen.includes(column.name)}
            onChange={() => toggle(column.name)}
          />
        </label>
      ))}
    </Menu>
  );
}
