import { useSignal } from "@preact/signals";
import { announce } from "../../announce.ts";
import { call } from "../../api/client.ts";
import { CopyButton } from "../../components/copy_button.tsx";
import { Icon } from "../../components/icon.tsx";
import { href } from "../../router.ts";
import { canWrite, isAdmin, session } from "../../session.ts";
import { errorText, t } from "../../texts.ts";
import { hasView } from "../../views.ts";

/** The ways to get the first people into an empty account. */
export function FirstSteps({ onAdd }: { onAdd: () => void }) {
  return (
    <ul class="steps">
      <li>
        <Icon name="up" />
        <h2>{t("steps.import")}</h2>
        <p>{t("steps.importText")}</p>
        {hasView("/import") && canWrite.value ? (
          <a class="button main" href={href("/import")}>
            {t("steps.import")}
          </a>
        ) : (
          <a href={`${href("/")}../docs/guides/import`} target="_blank" rel="noreferrer">
            {t("empty.guide")}
          </a>
        )}
      </li>
      <li>
        <Icon name="person" />
        <h2>{t("addPerson.title")}</h2>
        <p>{t("steps.addText")}</p>
        {canWrite.value ? (
          <button type="button" class="main" onClick={onAdd}>
            {t("addPerson.title")}
          </button>
        ) : (
          <p class="hint">{t("readOnly")}</p>
        )}
      </li>
      <ConnectApp />
    </ul>
  );
}

/** A command that signs a person up, with a key that can do nothing else. */
function ConnectApp() {
  const secret = useSignal("");
  const error = useSignal("");
  const url = session.value?.publicUrl || new URL("..", location.origin + href("/")).href.replace(/\/$/, "");
  const command = (key: string) =>
    [
      `curl ${url}/api/signup`,
      `-H "Authorization: Bearer ${key || "YOUR_KEY"}"`,
      '-H "Content-Type: application/json"',
      `-d '{"email": "ada@example.com"}'`,
    ].join(" \\\n  ");

  async function create(): Promise<void> {
    error.value = "";
    try {
      const body = { name: t("steps.keyName"), scope: "signup" } as const;
      secret.value = (await call("POST /api/keys", { body })).secret;
      announce(t("steps.keyOnce"));
    } catch (problem) {
      error.value = errorText(problem);
    }
  }

  return (
    <li class="wide">
      <Icon name="link" />
      <h2>{t("steps.connect")}</h2>
      <p>{t("steps.connectText")}</p>
      <div class="command">
        <pre tabIndex={0} aria-label={t("steps.connect")}>
          <code>{command(secret.value && "••••••••")}</code>
        </pre>
        <CopyButton text={command(secret.value)} title={t("steps.copy")} />
      </div>
      {error.value && (
        <p class="error" role="alert">
          {error.value}
        </p>
      )}
      {secret.value ? (
        <p class="hint">
          {t("steps.keyOnce")}
        </p>
      ) : isAdmin.value ? (
        <button type="button" onClick={() => void create()}>
          {t("steps.createKey")}
        </button>
      ) : (
        <p class="hint">{t("steps.askAdmin")}</p>
      )}
    </li>
  );
}
