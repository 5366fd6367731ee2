import { useSignal } from "@preact/signals";
import { notify } from "../../announce.ts";
import { call, callTagged } from "../../api/client.ts";
import type { Webhook } from "../../api/types.ts";
import { Back } from "../../components/back.tsx";
import { Fact } from "../../components/fact.tsx";
import { Icon } from "../../components/icon.tsx";
import { Part } from "../../components/part.tsx";
import { Menu } from "../../components/menu.tsx";
import { SecretDialog } from "../../components/secret.tsx";
import { Time } from "../../components/time.tsx";
import { useLoaded } from "../../load.ts";
import { go, href } from "../../router.ts";
import { canWrite } from "../../session.ts";
import { errorText, t } from "../../texts.ts";
import { Deliveries } from "./deliveries.tsx";
import { deliveryPath } from "./delivery_label.tsx";
import { DeleteDialog, EndpointDialog, ReplayDialog, RotateDialog } from "./endpoint_dialogs.tsx";
import { Dots, HealthLabel, HealthText, resultOf, SuccessRate } from "./health.tsx";

const REFRESH = 10;
type Question = "" | "edit" | "rotate" | "delete" | "replay";

/** One endpoint: its health, what it gets, its deliveries, and what can be done with it. */
export function Endpoint({ id }: { id: string }) {
  const question = useSignal<Question>("");
  const secret = useSignal("");
  const loaded = useLoaded(
    async (signal) => {
      const [{ body, etag }, { health }] = await Promise.all([
        callTagged("GET /api/webhooks/{id}", { path: { id }, signal }),
        call("GET /api/webhooks/{id}/health", { path: { id }, signal }),
      ]);
      return { webhook: body.webhook, etag, health };
    },
    id,
    () => REFRESH,
  );
  const close = () => (question.value = "");
  const { data } = loaded;

  async function run(action: () => Promise<unknown>): Promise<void> {
    try {
      await action();
      loaded.reload();
    } catch (error) {
      notify(errorText(error));
    }
  }

  return (
    <div class="page wide-page">
      <Back to="/webhooks">{t("webhooks.title")}</Back>
      <Part of={loaded} bars={4}>
        {({ webhook, health }) => (
          <>
            <header class="page-head">
              <h1 class="lines">
                <bdi dir="ltr">{webhook.url}</bdi>
              </h1>
              <HealthLabel webhook={webhook} health={health} />
              <div class="line">
                {canWrite.value && (
                  <button type="button" onClick={() => void run(() => test(webhook))}>
                    {t("webhook.test")}
                  </button>
                )}
                {canWrite.value && (
                  <button type="button" onClick={() => (question.value = "replay")}>
                    {t("replay.verb")}…
                  </button>
                )}
                <Menu label={<Icon name="more" />} title={t("actions.more")} class="plain">
                  <a href={href(`/webhooks/tail?webhook=${id}`)}>{t("tail.title")}</a>
                  {canWrite.value && (
                    <>
                      <button type="button" onClick={() => (question.value = "edit")}>
                        {t("webhook.edit")}…
                      </button>
                      <button type="button" onClick={() => void run(() => enable(webhook))}>
                        {t(webhook.enabled ? "webhook.disable" : "webhook.enable")}
                      </button>
                      <button type="button" onClick={() => (question.value = "rotate")}>
                        {t("rotate.title")}…
                      </button>
                      <button type="button" class="danger" onClick={() => (question.value = "delete")}>
                        {t("webhook.delete")}…
                      </button>
                    </>
                  )}
                </Menu>
              </div>
            </header>
            {webhook.description && (
              <p class="hint" dir="auto">
                {webhook.description}
              </p>
            )}
            <div class="card">
              <p>
                <HealthText webhook={webhook} health={health} />
              </p>
              <div class="figures">
                <SuccessRate health={health} />
                <Dots attempts={health.latestAttempts} />
              </div>
            </div>
            <dl class="facts">
              <Fact title={t("events")}>{webhook.eventTypes.length ? webhook.eventTypes.join(", ") : t("events.all")}</Fact>
              <Fact title={t("created")}>
                <Time value={webhook.createdAt} />
              </Fact>
            </dl>
          </>
        )}
      </Part>
      {data && <Deliveries webhooks={[data.webhook]} waiting={data.health.waiting} webhookId={id} />}
      {data && question.value === "edit" && (
        <EndpointDialog
          webhook={data.webhook}
          etag={data.etag}
          onClose={close}
          onDone={() => {
            close();
            loaded.reload();
          }}
        />
      )}
      {data && question.value === "rotate" && (
        <RotateDialog
          webhook={data.webhook}
          onClose={close}
          onDone={(value) => {
            close();
            secret.value = value;
          }}
        />
      )}
      {data && question.value === "delete" && (
        <DeleteDialog webhook={data.webhook} waiting={data.health.waiting} onClose={close} />
      )}
      {data && question.value === "replay" && <ReplayDialog webhook={data.webhook} onClose={close} />}
      {secret.value && <EndpointSecret secret={secret.value} onClose={() => (secret.value = "")} />}
    </div>
  );
}

/** Shows the secret of an endpoint, once. */
export function EndpointSecret({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <SecretDialog title={t("webhook.secret")} label={t("secret")} secret={secret} onClose={onClose}>
      <p>{t("webhook.secret.text")}</p>
    </SecretDialog>
  );
}

async function test(webhook: Webhook): Promise<void> {
  const { delivery, attempt } = await call("POST /api/webhooks/{id}/test", { path: { id: webhook.id } });
  notify(t(attempt.error ? "webhook.test.failed" : "webhook.test.done", { result: resultOf(attempt) }), {
    text: t("show"),
    run: () => go(deliveryPath(delivery)),
  });
}

async function enable(webhook: Webhook): Promise<void> {
  await call("PATCH /api/webhooks/{id}", {
    path: { id: webhook.id },
    body: { enabled: !webhook.enabled },
  });
}
