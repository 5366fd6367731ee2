import { useSignal } from "@preact/signals";
import { call, randomKey, url } from "../../api/client.ts";
import type { CreateExportRequest, CustomField, Operations } from "../../api/types.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Choices, Problem } from "../../components/form_dialog.tsx";
import { save, track } from "../../operations.ts";
import { named, number, plural, t } from "../../texts.ts";
import { type Group, Who } from "./group.tsx";
import type { Query } from "./list.ts";
import { MOST_EXPORTED, Selection, searched, target } from "./selection.ts";

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

/** Downloads all who match as a file, or starts an export of the selected people. */
export function ExportDialog({
  query,
  total,
  group,
  fields,
  shown,
  onClose,
}: {
  query: Query;
  /** The number of people who match. */
  total: number;
  /** The selected people; without it, all who match. */
  group?: Group;
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
  // Until columns are chosen, they are those of the list and all fields, which can arrive later.
  const picked = useSignal<string[] | null>(null);
  const chosen = picked.value ?? [...first, ...own];
  const hasSemicolons = useSignal(hasDecimalComma());
  const isCsv = format.value !== "ndjson";
  const columns = all.filter((each) => chosen.includes(each));
  // One name for all custom fields keeps the address short.
  const joined = own.length > 1 && own.every((each) => chosen.includes(each) && !first.includes(each));
  const parameters = {
    format: isCsv ? "CSV" : "NDJSON",
    columns: joined ? [...columns.filter((each) => !own.includes(each)), "customFields"] : columns,
    ...(format.value === "excel" ? { bom: true, delimiter: hasSemicolons.value ? "SEMICOLON" : "COMMA" } : {}),
  } satisfies Parameters;
  const selection = group?.selection;
  const size = group?.size ?? total;
  const isTooLarge = selection !== undefined && !selection.isAll && size > MOST_EXPORTED;
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(undefined);

  async function start(chosen: Selection): Promise<void> {
    isBusy.value = true;
    error.value = undefined;
    try {
      const body: CreateExportRequest = { ...target(query, chosen), ...parameters };
      const { id } = (await call("POST /api/exports", { body, idempotencyKey: randomKey() })).export;
      track((await call("GET /api/operations/{id}", { path: { id } })).operation, save);
      onClose();
    } catch (problem) {
      error.value = problem;
    }
    isBusy.value = false;
  }

  return (
    <Dialog title={plural("export.title", size)} onClose={onClose}>
      <Who group={group ?? { query, selection: Selection.ALL }} />
      {query.status !== "CONFIRMED" && <p>{t("export.mailable")}</p>}
      {isTooLarge && (
        <p id="too-large" class="changed">
          {t("export.tooLarge", { count: number(MOST_EXPORTED) })}
        </p>
      )}
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
                checked={chosen.includes(each)}
                onChange={(event) => {
                  const others = chosen.filter((name) => name !== each);
                  picked.value = event.currentTarget.checked ? [...others, each] : others;
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
          onClick={() => (picked.value = chosen.length < all.length ? all : first)}
        >
          {t(chosen.length < all.length ? "export.allColumns" : "export.shownColumns")}
        </button>
      </fieldset>
      <Problem error={error.value} />
      <div class="actions">
        <button type="button" onClick={onClose}>
          {t("cancel")}
        </button>
        {selection ? (
          <button
            type="button"
            class="main"
            disabled={isBusy.value || isTooLarge || !chosen.length}
            aria-describedby={isTooLarge ? "too-large" : undefined}
            onClick={() => void start(selection)}
          >
            {plural("export.title", size)}
          </button>
        ) : (
          <a
            class="main button"
            aria-disabled={chosen.length ? undefined : true}
            href={url("/api/subscribers/export", {}, { ...searched(query), ...parameters })}
            download=""
            onClick={(event) => {
              if (chosen.length) setTimeout(onClose);
              else event.preventDefault();
            }}
          >
            {t("export.download")}
          </a>
        )}
      </div>
    </Dialog>
  );
}
