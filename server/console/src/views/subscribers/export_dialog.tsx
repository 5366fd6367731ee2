import { useSignal } from "@preact/signals";
import { url } from "../../api/client.ts";
import type { CustomField, Operations } from "../../api/types.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Choices } from "../../components/form_dialog.tsx";
import { named, plural, t } from "../../texts.ts";
import { Who } from "./group.tsx";
import type { Query } from "./list.ts";
import { Selection, searched } from "./selection.ts";

type Parameters = Operations["GET /api/subscribers/export"]["query"];
type Format = "csv" | "excel" | "ndjson";

/** The columns of exports, in their usual order. */
const COLUMNS = [
  "email",
  "firstName",
  "lastName",
  "status",
  "tags",
  "createdAt",
  "updatedAt",
  "statusChangedAt",
  "confirmedAt",
  "unsubscribedAt",
  "consentSource",
  "consentIp",
  "consentAt",
  "id",
] as const;
/** Those of columns of the list. */
const OF_LIST: Record<string, string[]> = { name: ["firstName", "lastName"], created: ["createdAt"] };

/** Whether decimals have a comma in the regional settings, with which Excel separates cells by semicolons. */
const hasDecimalComma = () => new Intl.NumberFormat(navigator.language).format(0.5).includes(",");

/** Downloads all who match as a file. */
export function ExportDialog({
  query,
  total,
  size = total,
  fields,
  shown,
  onClose,
}: {
  query: Query;
  total: number;
  /** The number of selected people: exports cannot select single ones. */
  size?: number;
  fields: CustomField[];
  /** The columns of the list, which come first. */
  shown: string[];
  onClose: () => void;
}) {
  const format = useSignal<Format>("csv");
  const first = ["email", ...shown.flatMap((each) => OF_LIST[each] ?? [each])];
  const own = fields.map((field) => `customFields.${field.key}`);
  const titles = new Map<string, string>([
    ...COLUMNS.map((each): [string, string] => [each, named("exported", each)]),
    ...fields.map((field, index): [string, string] => [own[index]!, field.label]),
  ]);
  const all = [...first, ...[...titles.keys()].filter((each) => !first.includes(each))].filter((each) => titles.has(each));
  const chosen = useSignal([...first, ...own]);
  const hasSemicolons = useSignal(hasDecimalComma());
  const isCsv = format.value !== "ndjson";
  const columns = all.filter((each) => chosen.value.includes(each));
  // One name for all custom fields keeps the address short.
  const joined = own.length > 1 && own.every((each) => chosen.value.includes(each) && !first.includes(each));
  const parameters: Parameters = {
    ...searched(query),
    format: isCsv ? "CSV" : "NDJSON",
    columns: joined ? [...columns.filter((each) => !own.includes(each)), "customFields"] : columns,
    ...(format.value === "excel" ? { bom: true, delimiter: hasSemicolons.value ? "SEMICOLON" : "COMMA" } : {}),
  };
  return (
    <Dialog title={plural("export.title", total)} onClose={onClose}>
      <Who group={{ query, selection: Selection.ALL }} />
      {size !== total && <p class="changed">{t("export.notChosen")}</p>}
      <Choices
        legend={t("export.format")}
        value={format.value}
        choices={[
          { value: "csv", text: t("export.csv"), hint: t("export.csvHint") },
          { value: "excel", text: t("export.excel"), hint: t("export.excelHint") },
          { value: "ndjson", text: t("export.ndjson"), hint: t("export.ndjsonHint") },
        ]}
        onChoose={(chosen) => (format.value = chosen as Format)}
      />
      {format.value === "excel" && (
        <label class="check-line">
          <input
            type="checkbox"
            checked={hasSemicolons.value}
            onChange={(event) => (hasSemicolons.value = event.currentTarget.checked)}
          />
          {t("export.semicolons")}
        </label>
      )}
      <fieldset class="choices">
        <legend>{t("export.columns")}</legend>
        {isCsv && <p class="muted">{t("export.header")}</p>}
        <div class="export-columns">
          {all.map((each) => (
            <label key={each}>
              <input
                type="checkbox"
                checked={chosen.value.includes(each)}
                onChange={(event) => {
                  const others = chosen.value.filter((name) => name !== each);
                  chosen.value = event.currentTarget.checked ? [...others, each] : others;
                }}
              />
              <bdi class="cut" title={titles.get(each)}>
                {titles.get(each)}
              </bdi>
            </label>
          ))}
        </div>
        <button
          type="button"
          class="link"
          onClick={() => (chosen.value = chosen.value.length < all.length ? all : first)}
        >
          {t(chosen.value.length < all.length ? "export.allColumns" : "export.shownColumns")}
        </button>
      </fieldset>
      <div class="actions">
        <button type="button" onClick={onClose}>
          {t("cancel")}
        </button>
        <a
          class="main button"
          aria-disabled={chosen.value.length ? undefined : true}
          href={url("/api/subscribers/export", {}, parameters)}
          download=""
          onClick={(event) => {
            if (chosen.value.length) setTimeout(onClose);
            else event.preventDefault();
          }}
        >
          {t("export.download")}
        </a>
      </div>
    </Dialog>
  );
}
