// Imports in words.

import { ApiError } from "../../api/client.ts";
import type { ImportJob } from "../../api/types.ts";
import type { IconName } from "../../components/icon.tsx";
import { counts } from "../../components/operation_words.ts";
import { StateLabel } from "../../components/state_label.tsx";
import { errorText, language, named, number, plural, t } from "../../texts.ts";
import { FileError } from "./upload.ts";

const STATES: Record<ImportJob["state"], [IconName, string]> = {
  UPLOADING: ["up", "busy"],
  INSPECTING: ["clock", "busy"],
  READY: ["edit", "paused"],
  RUNNING: ["clock", "busy"],
  SUCCEEDED: ["check", "good"],
  CANCELLED: ["stop", "idle"],
  FAILED: ["warning", "bad"],
};

/** The services whose files are recognized. */
export const SERVICES = {
  MAILCHIMP: "Mailchimp",
  KIT: "Kit",
  BUTTONDOWN: "Buttondown",
  EMAILOCTOPUS: "EmailOctopus",
  SUBSTACK: "Substack",
  BEEHIIV: "beehiiv",
  LISTMONK: "listmonk",
  GHOST: "Ghost",
  MAILERLITE: "MailerLite",
  BREVO: "Brevo",
  HUBSPOT: "HubSpot",
  KLAVIYO: "Klaviyo",
  ACTIVECAMPAIGN: "ActiveCampaign",
  ROSTER: "Roster",
} as const;

/** The state of an import as a color, a shape and a word. */
export function JobState({ job }: { job: ImportJob }) {
  const [icon, kind] = STATES[job.state];
  return (
    <StateLabel icon={icon} kind={kind}>
      {t(job.state === "RUNNING" && job.dryRun ? "import.state.checking" : `import.state.${job.state}`)}
    </StateLabel>
  );
}

/** Returns the result of an import, or its progress, as a text. */
export function resultText(job: ImportJob): string {
  const { state, summary, rows, processed } = job;
  if (state === "UPLOADING") return t("progress", { processed: bytes(Number(job.received)), total: bytes(Number(job.size)) });
  if (state === "RUNNING") return t("progress", { processed: number(processed), total: number(rows) });
  if (!summary || job.dryRun || state === "READY") return rows ? plural("import.rows", rows) : "";
  return counts(summary).join(" · ");
}

/** Returns a number of bytes in the unit that fits. */
export function bytes(value: number): string {
  const [unit, size, digits] = value < 1_000_000 ? (["kilobyte", 1_000, 0] as const) : (["megabyte", 1_000_000, 1] as const);
  const options = { style: "unit", unit, maximumFractionDigits: digits } as const;
  return new Intl.NumberFormat(language.value, options).format(value && Math.max(1, value / size));
}

/** Returns the sentence for the error of an upload. */
export function fileErrorText(error: unknown): string {
  if (error instanceof FileError) return t(`import.error.${error.reason}`);
  if (error instanceof ApiError && error.details.some(({ field }) => field === "sha256")) return t("import.error.altered");
  return errorText(error);
}

/** Returns the name of a field. */
export function targetText(target: string, labels: ReadonlyMap<string, string>): string {
  return target
    .split("+")
    .map((field) => labels.get(field) ?? named("target", field))
    .join(" + ");
}
