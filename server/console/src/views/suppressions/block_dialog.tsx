import { useSignal } from "@preact/signals";
import { notify } from "../../announce.ts";
import { call } from "../../api/client.ts";
import type { Suppression } from "../../api/types.ts";
import { FormDialog } from "../../components/form_dialog.tsx";
import { named, plural, t } from "../../texts.ts";
import { addressesIn } from "./addresses.ts";

// The maximum of one call.
const LIMIT = 1_000;
const REASONS = ["MANUAL", "UNSUBSCRIBED", "BOUNCED", "COMPLAINED"] as const;

/** Blocks the addresses of a text. Those that the server rejects stay in it. */
export function BlockDialog({ start, onClose, onBlocked }: { start: string; onClose: () => void; onBlocked: () => void }) {
  const text = useSignal(start);
  const reason = useSignal<Suppression["reason"]>("MANUAL");
  const rejected = useSignal(0);
  const addresses = addressesIn(text.value);

  async function block(): Promise<boolean> {
    const sum = { added: 0, existing: 0, optedOut: 0 };
    const failed: string[] = [];
    for (let first = 0; first < addresses.length; first += LIMIT) {
      const emails = addresses.slice(first, first + LIMIT);
      const result = await call("POST /api/suppressions", { body: { emails, reason: reason.value } });
      for (const name of ["added", "existing", "optedOut"] as const) sum[name] += result[name];
      failed.push(...result.failed.map((failure) => emails[failure.index] ?? failure.email));
    }
    const said = [plural("block.added", sum.added)];
    if (sum.existing) said.push(plural("block.existing", sum.existing));
    if (sum.optedOut) said.push(plural("block.optedOut", sum.optedOut));
    if (sum.added || sum.existing) notify(said.join(", "));
    onBlocked();
    rejected.value = failed.length;
    text.value = failed.join("\n");
    return failed.length === 0;
  }

  return (
    <FormDialog
      danger
      title={t("block.title")}
      verb={addresses.length ? plural("block.button", addresses.length) : t("block.title")}
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
          required
          dir="ltr"
          spellcheck={false}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
      </label>
      {rejected.value > 0 && (
        <p class="error" role="alert">
          {plural("block.rejected", rejected.value)}
        </p>
      )}
      <label class="field">
        {t("suppressions.reason")}
        <select
          value={reason.value}
          onChange={(event) => (reason.value = event.currentTarget.value as Suppression["reason"])}
        >
          {REASONS.map((each) => (
            <option key={each} value={each}>
              {named("suppressedBy", each)}
            </option>
          ))}
        </select>
      </label>
    </FormDialog>
  );
}
