import type { CustomField, ImportJob } from "../../api/types.ts";
import { StatusLabel } from "../../components/status.tsx";
import { named, t } from "../../texts.ts";
import { fieldOf } from "./columns.ts";

/** The first rows as they will be stored. */
export function Sample({ job, fields, isOld }: { job: ImportJob; fields: CustomField[]; isOld: boolean }) {
  const keys = [...new Set(job.sample.flatMap((row) => Object.keys(row.customFields)))];
  const hasTags = job.sample.some((row) => row.tags.length);
  const hasNames = job.sample.some((row) => row.firstName || row.lastName);
  return (
    <div class="sample-rows">
      <h3 id="sample">{t("import.sample")}</h3>
      <div class="scroll" tabIndex={0} role="region" aria-labelledby="sample" aria-busy={isOld}>
        <table class={isOld ? "table records old" : "table records"}>
          <thead>
            <tr>
              <th>{t("column.email")}</th>
              {hasNames && <th>{t("column.name")}</th>}
              <th>{t("column.status")}</th>
              {hasTags && <th>{t("column.tags")}</th>}
              {keys.map((key) => (
                <th key={key}>
                  <bdi dir="auto">{fieldOf(job, key, fields).label}</bdi>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {job.sample.map((row) => (
              <tr key={row.line}>
                <td>
                  <Text>{row.email}</Text>
                </td>
                {hasNames && (
                  <td>
                    <Text>{[row.firstName, row.lastName].filter(Boolean).join(" ")}</Text>
                  </td>
                )}
                <td>
                  {row.status ? (
                    <StatusLabel status={row.status} />
                  ) : (
                    <span class="error">{row.reason && named("rowReason", row.reason)}</span>
                  )}
                </td>
                {hasTags && (
                  <td>
                    <Text>{row.tags.join(", ")}</Text>
                  </td>
                )}
                {keys.map((key) => (
                  <td key={key}>
                    <Text>{valueText(row.customFields[key] ?? "", fieldOf(job, key, fields).dataType)}</Text>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function valueText(value: string, dataType?: string | null): string {
  return dataType === "BOOLEAN" && value ? t(value === "true" ? "yes" : "no") : value;
}

function Text({ children }: { children: string }) {
  return (
    <bdi dir="auto" class="cut">
      {children}
    </bdi>
  );
}
