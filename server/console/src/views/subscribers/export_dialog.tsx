import { useSignal } from "@preact/signals";
import { url } from "../../api/client.ts";
import type { Operations } from "../../api/types.ts";
import { Dialog } from "../../components/dialog.tsx";
import { Choices } from "../../components/form_dialog.tsx";
import { plural, t } from "../../texts.ts";
import { Who } from "./group.tsx";
import type { Query } from "./list.ts";
import { Selection, searched } from "./selection.ts";

type Parameters = Operations["GET /api/subscribers/export"]["query"];
type Format = "csv" | "excel" | "ndjson";

/** Downloads all who match as a file. */
export function ExportDialog({
  query,
  total,
  size = total,
  onClose,
}: {
  query: Query;
  total: number;
  /** The number of selected people: exports cannot select single ones. */
  size?: number;
  onClose: () => void;
}) {
  const format = useSignal<Format>("csv");
  const view = useSignal<"BASIC" | "FULL">("BASIC");
  const isCsv = format.value !== "ndjson";
  const parameters: Parameters = {
    ...searched(query),
    format: isCsv ? "CSV" : "NDJSON",
    view: view.value,
    ...(format.value === "excel" ? { bom: true } : {}),
  };
  const name = `subscribers-${new Date().toISOString().slice(0, 10)}.${isCsv ? "csv" : "ndjson"}`;
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
      <Choices
        legend={t("export.columns")}
        value={view.value}
        choices={[
          { value: "BASIC", text: t("export.basic"), hint: t("export.basicHint") },
          { value: "FULL", text: t("export.full"), hint: t("export.fullHint") },
        ]}
        onChoose={(chosen) => (view.value = chosen as "BASIC" | "FULL")}
      />
      <div class="actions">
        <button type="button" onClick={onClose}>
          {t("cancel")}
        </button>
        <a
          class="main button"
          href={url("/api/subscribers/export", {}, parameters)}
          download={name}
          onClick={() => setTimeout(onClose)}
        >
          {t("export.download")}
        </a>
      </div>
    </Dialog>
  );
}
