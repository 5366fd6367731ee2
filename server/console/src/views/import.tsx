import { useSignal } from "@preact/signals";
import { call } from "../api/client.ts";
import type { ImportJob } from "../api/types.ts";
import { ActorName } from "../components/actor_name.tsx";
import { Icon } from "../components/icon.tsx";
import { Part, PartError } from "../components/part.tsx";
import { Time } from "../components/time.tsx";
import { useLoaded } from "../load.ts";
import { href } from "../router.ts";
import type { Parameters } from "../routes.ts";
import { canWrite } from "../session.ts";
import { t } from "../texts.ts";
import { FileButton, openFile, rejected } from "./import/files.tsx";
import { ImportPage } from "./import/page.tsx";
import { FileError, uploads } from "./import/upload.ts";
import { fileErrorText, JobState, resultText } from "./import/words.tsx";

const REFRESH = 15;
const REFRESH_RUNNING = 2;

/** Imports of files: a place to drop one, and the import with an ID. */
export function Import({ id }: Parameters) {
  return id ? <ImportPage key={id} id={id} /> : <Start />;
}

function Start() {
  const loaded = useLoaded(
    async (signal) => (await call("GET /api/imports", { query: { limit: 50 }, signal })).imports,
    String(uploads.value.length),
    (imports) => (imports?.some(isActive) ? REFRESH_RUNNING : REFRESH),
  );
  const isBusy = useSignal(false);
  const problem = rejected.value;
  return (
    <div class="page">
      <h1>{t("import.title")}</h1>
      {canWrite.value ? (
        <div class="drop-here">
          <Icon name="up" />
          <p class="by-mouse">{t("import.drop")}</p>
          <FileButton
            class="main"
            isBusy={isBusy.value}
            onFile={(file) => {
              isBusy.value = true;
              void openFile(file).finally(() => (isBusy.value = false));
            }}
          />
          <small>{t("import.formats")}</small>
        </div>
      ) : (
        <p class="warning">{t("import.readOnly")}</p>
      )}
      {problem && (
        <PartError onRetry={problem.error instanceof FileError ? undefined : () => void openFile(problem.file)}>
          <bdi dir="auto">{problem.file.name}</bdi>: {fileErrorText(problem.error)}
        </PartError>
      )}
      <section class="block" aria-labelledby="imports">
        <h2 id="imports">{t("import.last")}</h2>
        <Part of={loaded}>
          {(imports) => (imports.length ? <Imports imports={imports} /> : <p class="hint">{t("import.none")}</p>)}
        </Part>
      </section>
    </div>
  );
}

function Imports({ imports }: { imports: ImportJob[] }) {
  return (
    <table class="table activities imports">
      <thead>
        <tr>
          <th>{t("import.file")}</th>
          <th>{t("state")}</th>
          <th>{t("result")}</th>
          <th class="wide">{t("who")}</th>
          <th class="wide">{t("created")}</th>
        </tr>
      </thead>
      <tbody>
        {imports.toSorted((a, b) => Number(isActive(b)) - Number(isActive(a))).map((job) => (
          <tr key={job.id}>
            <td class="name">
              <a
                class="row-link"
                href={href(`/import/${job.id}`)}
                aria-describedby={`state-${job.id} at-${job.id}`}
              >
                <bdi dir="auto" class="lines">
                  {job.name}
                </bdi>
              </a>
            </td>
            <td id={`state-${job.id}`}>
              <JobState job={job} />
            </td>
            <td>{resultText(job)}</td>
            <td class="wide name">
              <ActorName actor={job.actor} />
            </td>
            <td id={`at-${job.id}`} class="wide">
              <Time value={job.createdAt} as="ago" />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function isActive({ state }: ImportJob): boolean {
  return state === "RUNNING" || state === "INSPECTING";
}
