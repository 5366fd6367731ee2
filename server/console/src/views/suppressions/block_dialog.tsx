import { useSignal } from "@preact/signals";
import { notify } from "../../announce.ts";
import { call } from "../../api/client.ts";
import type { ImportSuppressionsSummary, ReasonCount, Suppression } from "../../api/types.ts";
import { FormDialog } from "../../components/form_dialog.tsx";
import { Select } from "../../components/select.tsx";
import { named, plural, t } from "../../texts.ts";
import { Reasons } from "../import/reasons.tsx";
import { addressesIn } from "./addresses.ts";

// The maximum of one call.
const LIMIT = 1_000;
const REASONS = ["MANUAL", "UNSUBSCRIBED", "BOUNCED", "COMPLAINED"] as const;

type Sum = Pick<ImportSuppressionsSummary, "added" | "existing" | "optedOut">;

/** Blocks the addresses of a text and a file. Those that the server rejects stay in the text. */
export function BlockDialog({ start, onClose, onBlocked }: { start: string; onClose: () => void; onBlocked: () => void }) {
  const text = useSignal(start);
  const reason = useSignal<Suppression["reason"]>("MANUAL");
  const rejected = useSignal(0);
  const file = useSignal<File | null>(null);
  const reasons = useSignal<ReasonCount[]>([]);
  const addresses = addressesIn(text.value);

  function report({ added, existing, optedOut }: Sum): void {
    const said = [plural("block.added", added)];
    if (existing) said.push(plural("block.existing", existing));
    if (optedOut) said.push(plural("block.optedOut", optedOut));
    if (added || existing) notify(said.join(", "));
    onBlocked();
  }

  function add(result: Sum, sum: Sum): void {
    for (const name of ["added", "existing", "optedOut"] as const) sum[name] += result[name];
  }

  /** Blocks the addresses of a file. Returns whether no row of it failed. */
  async function blockFile(chosen: File, sum: Sum): Promise<boolean> {
    const type = /\.(nd)?json$/i.test(chosen.name) ? "application/x-ndjson" : "text/csv";
    const body = new Blob([chosen], { type: /\.zip$/i.test(chosen.name) ? "application/zip" : type });
    const query = { reason: reason.value, results: "SUMMARY" as const };
    const response = await call("POST /api/suppressions/import", { query, body });
    const { summary } = response as { summary: ImportSuppressionsSummary };
    add(summary, sum);
    reasons.value = summary.reasons;
    return summary.failed === 0;
  }

  /** Blocks the addresses of the text, in which those that failed stay. Returns whether there are none. */
  async function blockText(sum: Sum): Promise<boolean> {
    const failed: string[] = [];
    for (let first = 0; first < addresses.length; first += LIMIT) {
      const emails = addresses.slice(first, first + LIMIT);
      const result = await call("POST /api/suppressions", { body: { emails, reason: reason.value } });
      add(result, sum);
      failed.push(...result.failed.map((failure) => emails[failure.index] ?? failure.email));
    }
    rejected.value = failed.length;
    text.value = failed.join("\n");
    return failed.length === 0;
  }

  async function block(): Promise<boolean> {
    const sum: Sum = { added: 0, existing: 0, optedOut: 0 };
    try {
      const isFileBlocked = !file.value || (await blockFile(file.value, sum));
      return (await blockText(sum)) && isFileBlocked;
    } finally {
      report(sum);
    }
  }

  return (
    <FormDialog
      danger
      title={t("block.title")}
      verb={addresses.length ? plural(file.value ? "block.withFile" : "block.button", addresses.length) : t("block.title")}
      keep={t("cancel")}
      onSubmit={block}
      onClose={onClose}
    >
      <p>{t("block.text")}</p>
      <label class="field">
        {t("block.addresses")}
        <textarea
          class="mono"
          rows={6}
          required={!file.value}
          dir="ltr"
          spellcheck={false}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
      </label>
      <label class="field">
        {t("block.file")}
        <input
          type="file"
          accept=".csv,.txt,.ndjson,.json,.zip"
          onChange={(event) => {
            file.value = event.currentTarget.files?.[0] ?? null;
            reasons.value = [];
          }}
        />
      </label>
      <Reasons reasons={reasons.value} />
      {rejected.value > 0 && (
        <p class="error" role="alert">
          {plural("block.rejected", rejected.value)}
        </p>
      )}
      <Select
        label={t("suppressions.reason")}
        value={reason.value}
        choices={REASONS.map((each) => [each, named("suppressedBy", each)])}
        onChoose={(chosen) => (reason.value = chosen as Suppression["reason"])}
      />
    </FormDialog>
  );
}
