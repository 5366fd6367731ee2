import { ApiError, call, url } from "../../api/client.ts";
import type { Operation } from "../../api/types.ts";
import { Fact } from "../../components/fact.tsx";
import { Icon } from "../../components/icon.tsx";
import { Part } from "../../components/part.tsx";
import { Time } from "../../components/time.tsx";
import { useLoaded } from "../../load.ts";
import { t } from "../../texts.ts";
import { bytes } from "../import/words.tsx";

/** The file of an export, which can be downloaded until it is deleted. */
export function ExportFile({ operation: { id, state, done } }: { operation: Operation }) {
  const loaded = useLoaded(
    async (signal) => {
      try {
        return (await call("GET /api/exports/{id}", { path: { id }, signal })).export;
      } catch (error) {
        if (error instanceof ApiError && error.code === "ExportNotFound") return null;
        throw error;
      }
    },
    state,
    () => (done ? 0 : 1),
  );
  return (
    <Part of={loaded} bars={2}>
      {(file) =>
        file === null ? (
          <p class="muted">{t("exportFile.deleted")}</p>
        ) : (
          <>
            {file.state === "SUCCEEDED" && (
              <div class="line">
                <a class="button main" href={url("/api/exports/{id}/file", { id })} download="">
                  <Icon name="download" />
                  {t("export.download")}
                </a>
                <small>
                  {t("exportFile.until")} <Time value={file.expiresAt} />
                </small>
              </div>
            )}
            <dl class="facts">
              <Fact title={t("export.format")}>{file.format}</Fact>
              <Fact title={t("export.columns")}>
                <bdi dir="auto">
                  {file.columns.join(", ") || t(file.view === "FULL" ? "export.full" : "export.basic")}
                </bdi>
              </Fact>
              <Fact title={t("exportFile.size")}>{bytes(Number(file.size))}</Fact>
            </dl>
          </>
        )
      }
    </Part>
  );
}
