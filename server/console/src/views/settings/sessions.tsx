import { useSignal } from "@preact/signals";
import { notify } from "../../announce.ts";
import { call } from "../../api/client.ts";
import type { CreateSignInLinkRequest, Session, SignInLink } from "../../api/types.ts";
import { now } from "../../clock.ts";
import { EverywhereDialog } from "../../components/account_menu.tsx";
import { FormDialog, textOf } from "../../components/form_dialog.tsx";
import { Icon } from "../../components/icon.tsx";
import { Part } from "../../components/part.tsx";
import { More, usePaged } from "../../components/paged.tsx";
import { SecretDialog } from "../../components/secret.tsx";
import { Select } from "../../components/select.tsx";
import { TextField } from "../../components/text_field.tsx";
import { Time } from "../../components/time.tsx";
import { session, signOut } from "../../session.ts";
import { exactTime, named, parts, t } from "../../texts.ts";
import { Scope, ScopeChoices } from "./scopes.tsx";

type LinkScope = CreateSignInLinkRequest["scope"];
const PAGE = 100;
const TIMES = { 600: "time.minutes10", 3600: "time.hour", 86400: "time.day", 604800: "time.week" } as const;
type Question =
  | { type: "link" }
  | { type: "everywhere" }
  | { type: "session"; session: Session }
  | { type: "revoke"; link: SignInLink };

/** People who are signed in, and links with which others can. */
export function Sessions() {
  const question = useSignal<Question | null>(null);
  const url = useSignal("");
  const sessions = usePaged("GET /api/sessions", { limit: PAGE }, (body) => body.sessions);
  const links = usePaged("GET /api/sign-in-links", { limit: PAGE }, (body) => body.signInLinks);
  const asked = question.value;
  const close = () => (question.value = null);
  const own = session.value?.session?.id;

  return (
    <>
      <header class="page-head">
        <p>{t("sessions.text")}</p>
        <div class="line">
          <button type="button" onClick={() => (question.value = { type: "everywhere" })}>
            {t("account.signOutEverywhere")}…
          </button>
          <button type="button" class="main" onClick={() => (question.value = { type: "link" })}>
            <Icon name="plus" />
            {t("link.create")}
          </button>
        </div>
      </header>
      <section aria-labelledby="sessions">
        <h2 id="sessions">{t("sessions.title")}</h2>
        <Part of={sessions}>
          {(items) =>
            items.length ? (
              <table class="table">
                <thead>
                  <tr>
                    <th>{t("name")}</th>
                    <th class="wide">{t("scope.title")}</th>
                    <th class="wide">{t("sessions.began")}</th>
                    <th>{t("lastUsed")}</th>
                    <th class="wide">{t("sessions.ends")}</th>
                    <th>
                      <span class="unseen">{t("actions")}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {items.map((each) => (
                    <tr key={each.id}>
                      <td class="name">
                        <bdi dir="auto">{each.name}</bdi>
                        <small class="below phone">
                          {named("scope", each.scope)} · {t("sessions.began")} <Time value={each.createdAt} />
                        </small>
                        {each.id === own && <small> {t("sessions.own")}</small>}
                      </td>
                      <td class="wide">
                        <Scope scope={each.scope} />
                      </td>
                      <td class="wide">
                        <Time value={each.createdAt} as="ago" />{" "}
                        <small>{t(each.apiKeyId ? "sessions.byKey" : "sessions.byLink")}</small>
                      </td>
                      <td>
                        <Time value={each.id === own ? new Date(now()).toISOString() : each.lastUsedAt} as="ago" />
                      </td>
                      <td class="wide">
                        <Time value={each.expiresAt} />
                      </td>
                      <td class="end">
                        <button
                          type="button"
                          class="plain"
                          aria-label={`${t("account.signOut")}: ${each.name}, ${exactTime(each.createdAt)}`}
                          onClick={() => (question.value = { type: "session", session: each })}
                        >
                          {t("account.signOut")}
                        </button>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            ) : (
              <p class="muted">{t("sessions.empty")}</p>
            )
          }
        </Part>
        <More paged={sessions} />
      </section>
      <section aria-labelledby="links">
        <h2 id="links">{t("links.title")}</h2>
        <Part of={links} bars={1}>
          {(items) =>
            items.length ? (
              <table class="table">
                <thead>
                  <tr>
                    <th>{t("name")}</th>
                    <th class="wide">{t("scope.title")}</th>
                    <th class="wide">{t("created")}</th>
                    <th>{t("expires")}</th>
                    <th>
                      <span class="unseen">{t("actions")}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {items.map((link) => (
                    <tr key={link.id}>
                      <td class="name">
                        <bdi dir="auto">{link.name}</bdi>
                        <small class="below phone">
                          {named("scope", link.scope)} · {t("created")} <Time value={link.createdAt} />
                        </small>
                      </td>
                      <td class="wide">
                        <Scope scope={link.scope} />
                      </td>
                      <td class="wide">
                        <Time value={link.createdAt} as="ago" />
                      </td>
                      <td>
                        <Time value={link.expiresAt} as="ago" />
                      </td>
                      <td class="end">
                        <button
                          type="button"
                          class="plain"
                          aria-label={`${t("revoke")}: ${link.name}, ${exactTime(link.createdAt)}`}
                          onClick={() => (question.value = { type: "revoke", link })}
                        >
                          {t("revoke")}
                        </button>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            ) : (
              <p class="muted">{t("links.empty")}</p>
            )
          }
        </Part>
        <More paged={links} />
      </section>
      {asked?.type === "link" && (
        <LinkDialog
          onClose={close}
          onDone={(created) => {
            links.reload();
            url.value = created;
          }}
        />
      )}
      {url.value && (
        <SecretDialog
          title={t("link.created")}
          label={t("link")}
          secret={url.value}
          onClose={() => (url.value = "")}
        >
          <p>{t("link.text")}</p>
        </SecretDialog>
      )}
      {asked?.type === "everywhere" && <EverywhereDialog onClose={close} />}
      {asked?.type === "session" && (
        <FormDialog
          title={t("session.end.title")}
          verb={t("account.signOut")}
          keep={t("session.keep")}
          danger
          onClose={close}
          onSubmit={async () => {
            if (asked.session.id === own) return signOut();
            await call("DELETE /api/sessions/{id}", { path: { id: asked.session.id } });
            sessions.reload();
            notify(t("session.ended", { name: asked.session.name }));
          }}
        >
          <p>
            {parts(asked.session.id === own ? "session.end.own" : "session.end.text", {
              name: <bdi dir="auto">{asked.session.name}</bdi>,
              time: <Time value={asked.session.lastUsedAt} as="ago" />,
            })}
          </p>
        </FormDialog>
      )}
      {asked?.type === "revoke" && (
        <FormDialog
          title={t("link.revoke.title")}
          verb={t("revoke")}
          keep={t("link.keep")}
          danger
          onClose={close}
          onSubmit={async () => {
            try {
              await call("DELETE /api/sign-in-links/{id}", { path: { id: asked.link.id } });
            } finally {
              // A missing link has expired or was used.
              links.reload();
              sessions.reload();
            }
            notify(`${asked.link.name}: ${named("verb", "revoked")}`);
          }}
        >
          <p>{parts("link.revoke.text", { name: <bdi dir="auto">{asked.link.name}</bdi> })}</p>
        </FormDialog>
      )}
    </>
  );
}

function LinkDialog({ onClose, onDone }: { onClose: () => void; onDone: (url: string) => void }) {
  const scope = useSignal<LinkScope>("write");
  const seconds = useSignal("3600");
  return (
    <FormDialog
      title={t("link.create")}
      verb={t("link.create")}
      onClose={onClose}
      onSubmit={async (form) => {
        const body = { name: textOf(form, "name"), scope: scope.value, expiresInSeconds: Number(seconds.value) };
        onDone((await call("POST /api/sign-in-links", { body })).url);
      }}
    >
      <TextField label={t("link.name")} name="name" max={100} />
      <ScopeChoices
        scopes={["read", "write", "admin"] as const}
        value={scope.value}
        onChoose={(chosen) => (scope.value = chosen)}
      />
      <Select
        label={t("link.works")}
        value={seconds.value}
        choices={Object.entries(TIMES).map(([value, text]) => [value, t(text)])}
        onChoose={(chosen) => (seconds.value = chosen)}
      />
    </FormDialog>
  );
}
