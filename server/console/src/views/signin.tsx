import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { ApiError } from "../api/client.ts";
import { address, go } from "../router.ts";
import { hasEnded, signIn } from "../session.ts";
import { errorText, parts, t } from "../texts.ts";

let linkToken = "";

/** Takes the token of a sign-in link out of the address, before anything else can read it. */
export function takeToken(): void {
  if (address.value.path !== "/signin") return;
  linkToken ||= address.value.hash;
  // The token must not stay in the address bar and the history.
  go("/signin", { replace: true });
}

/** Begins a session with a link or an API key. The address stays, so its view is shown then. */
export function SignIn() {
  const text = useSignal("");
  const busy = useSignal(linkToken !== "");
  const error = useSignal("");

  async function begin(token: string): Promise<void> {
    busy.value = true;
    error.value = "";
    text.value = "";
    try {
      await signIn(token);
      if (address.value.path === "/signin") go("/", { replace: true });
    } catch (problem) {
      error.value = problem instanceof ApiError && problem.status === 401 ? t("signin.wrong") : errorText(problem);
    }
    busy.value = false;
  }

  const { value: isBusy } = busy;
  useLayoutEffect(() => {
    if (!isBusy) document.getElementById("token")?.focus();
  }, [isBusy]);
  useLayoutEffect(() => {
    // A link that is opened while this page is shown changes the address only.
    takeToken();
    const token = linkToken;
    linkToken = "";
    if (token) void begin(token);
  }, [address.value.hash]);

  return (
    <main class="signin">
      <h1>Roster</h1>
      {isSecureContext ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void begin(text.value);
          }}
        >
          <p role="status">{busy.value ? t("signin.busy") : hasEnded.value ? t("error.Unauthorized") : ""}</p>
          {error.value && (
            <p role="alert" class="error">
              {error.value}
            </p>
          )}
          <label for="token">{t("signin.token")}</label>
          <input
            id="token"
            type="password"
            autocomplete="off"
            required
            disabled={busy.value}
            value={text.value}
            onInput={(event) => (text.value = event.currentTarget.value)}
          />
          <button class="main" disabled={busy.value}>
            {t("signin.button")}
          </button>
          <p class="hint">{parts("signin.hint", { command: <code>roster console link</code> })}</p>
        </form>
      ) : (
        <p role="alert">
          {parts("signin.insecure", {
            host: <bdi>{location.host}</bdi>,
            setting: <code>ROSTER_TRUSTED_PROXIES</code>,
          })}
        </p>
      )}
    </main>
  );
}
