import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { announce, announced, notice } from "./announce.ts";
import { AccountMenu } from "./components/account_menu.tsx";
import { Icon } from "./components/icon.tsx";
import { KeysDialog, labelOf } from "./components/keys_dialog.tsx";
import { OperationNotices } from "./components/operation_notices.tsx";
import { Palette } from "./components/palette.tsx";
import { lostSince } from "./connection.ts";
import { focusBefore, focusMain, returnFocus } from "./focus.ts";
import { useShortcuts } from "./keys.ts";
import { address, forgetShown, go, href } from "./router.ts";
import { match, type Parameters } from "./routes.ts";
import { failure, hasEnded, load, resume, session } from "./session.ts";
import { TABLE_KEYS } from "./table_keys.ts";
import { clock, errorText, t } from "./texts.ts";
import { startOf, type View, VIEWS } from "./views.ts";
import { DropTarget } from "./views/import/files.tsx";
import { Receipt } from "./views/person/ending_dialogs.tsx";
import { SignIn } from "./views/signin.tsx";
import { findPasted, startSearch } from "./views/subscribers/start_search.ts";

/** The navigation with the view of the address, or the view that begins a session. */
export function App() {
  if (session.value === undefined) return <Unknown />;
  if (session.value === null) return <SignIn />;
  const { account, session: own } = session.value;
  return (
    <>
      {/* Another account or scope begins anew. */}
      <Console key={`${account?.id} ${own?.scope}`} />
      {hasEnded.value && <SignInAgain />}
    </>
  );
}

/** Covers the page, and what was typed in it, until the person has signed in again. */
function SignInAgain() {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const before = focusBefore();
    dialog.current?.showModal();
    return () => returnFocus(before);
  }, []);
  useLayoutEffect(() => {
    const look = () => !document.hidden && void resume();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  return (
    <dialog
      ref={dialog}
      class="cover"
      aria-label={t("signin.button")}
      onCancel={(event) => event.preventDefault()}
      onClose={(event) => event.currentTarget.showModal()}
      onKeyDown={(event) => event.stopPropagation()}
    >
      <SignIn />
    </dialog>
  );
}

function Console() {
  const { path } = address.value;
  const shown = useSignal<"keys" | "palette" | null>(null);
  useLayoutEffect(() => {
    document.addEventListener("paste", findPasted);
    return () => document.removeEventListener("paste", findPasted);
  }, []);
  // Addresses can be those of people.
  useLayoutEffect(() => forgetShown, []);
  // What was announced is about what is not shown anymore.
  useLayoutEffect(() => void (announced.value = ""), [path]);
  useShortcuts([
    { keys: ["/"], text: "keys.search", run: startSearch },
    { keys: ["?"], text: "keys.help", run: () => (shown.value = "keys") },
    { keys: ["Ctrl+k"], text: "palette.title", run: () => (shown.value = "palette") },
    ...TABLE_KEYS,
    ...VIEWS.flatMap((view) =>
      view.letter ? [{ keys: [`g ${view.letter}`], run: () => go(startOf(view)) }] : [],
    ),
  ]);
  /** A key can open the other dialog before the browser reports that this one was closed. */
  const close = (what: "keys" | "palette") => () => {
    if (shown.value === what) shown.value = null;
  };
  const found = viewAt(path);
  return (
    <div class="console">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        {t("navigation.skip")}
      </a>
      <Navigation current={found?.view} onShow={(what) => (shown.value = what)} />
      <Main view={found?.view} parameters={found?.parameters ?? {}} />
      <OperationNotices />
      <DropTarget />
      <Notice />
      <Receipt />
      {shown.value === "keys" && <KeysDialog onClose={close("keys")} />}
      {shown.value === "palette" && <Palette onClose={close("palette")} />}
      <p class="unseen" role="status">
        {announced.value}
      </p>
    </div>
  );
}

function viewAt(path: string): { view: View; parameters: Parameters } | null {
  for (const view of VIEWS) {
    const parameters = match(view.path, path);
    if (parameters) return { view, parameters };
  }
  return null;
}

function Navigation({
  current,
  onShow,
}: {
  current: View | undefined;
  onShow: (what: "keys" | "palette") => void;
}) {
  const views = VIEWS.filter((view) => view.icon);
  const isCurrent = (view: View) => current !== undefined && (current === view || current.within === view.path);
  const link = (view: View) => (
    <a href={href(startOf(view))} aria-current={isCurrent(view) ? "page" : undefined}>
      {view.icon && <Icon name={view.icon} />}
      {t(view.title)}
      {view.badge && <view.badge />}
    </a>
  );
  // On a phone, not all views fit into the navigation.
  const others = views.filter((view) => !view.isFrequent);
  return (
    <nav aria-label={t("navigation.label")}>
      <a class="home" href={href("/")}>
        Roster
      </a>
      <button
        type="button"
        class="wide commands"
        title={t("palette.placeholder")}
        onClick={() => onShow("palette")}
      >
        <Icon name="search" />
        <span>{t("keys.search")}…</span>
        <kbd>{labelOf("Ctrl+k")}</kbd>
      </button>
      <ul>
        {views.map((view) => (
          <li key={view.path} class={view.isFrequent ? "" : "wide"}>
            {link(view)}
          </li>
        ))}
      </ul>
      <AccountMenu isCurrent={others.some(isCurrent)} onShow={onShow}>{others.map(link)}</AccountMenu>
    </nav>
  );
}

function Main({ view, parameters }: { view: View | undefined; parameters: Parameters }) {
  const isFirst = useRef(true);
  useLayoutEffect(() => {
    document.title = `${t(view?.title ?? "missing.title")} · Roster`;
    // Screen readers announce what gets the focus, not what keeps it.
    if (document.activeElement?.id === "main") announce(t(view?.title ?? "missing.title"));
    if (!isFirst.current) focusMain();
    isFirst.current = false;
  }, [view]);
  return (
    <main id="main" tabIndex={-1} aria-label={t(view?.title ?? "missing.title")}>
      <LostConnection />
      {view ? <view.component {...parameters} /> : <Missing />}
    </main>
  );
}

function Missing() {
  return (
    <div class="page">
      <h1>{t("missing.title")}</h1>
      <p>{t("missing.text")}</p>
    </div>
  );
}

/** Why it is not known who is signed in. */
function Unknown() {
  if (lostSince.value !== null) return <LostConnection />;
  return (
    <p class="failed" role="alert">
      <span>{errorText(failure.value)}</span>
      <button type="button" onClick={() => void load().catch(() => {})}>
        {t("retry")}
      </button>
    </p>
  );
}

function LostConnection() {
  if (lostSince.value === null) return null;
  return (
    <p class="lost" role="alert">
      <Icon name="warning" />
      {t("connection.lost", { time: clock(lostSince.value) })}
    </p>
  );
}

function Notice() {
  if (!notice.value) return null;
  const { text, action } = notice.value;
  return (
    <section class="notice" aria-label={t("notice")}>
      <span dir="auto">{text}</span>
      {action && (
        <button
          type="button"
          onClick={() => {
            notice.value = null;
            action.run();
          }}
        >
          {action.text}
        </button>
      )}
      <button type="button" class="plain" aria-label={t("close")} onClick={() => (notice.value = null)}>
        <Icon name="close" />
      </button>
    </section>
  );
}
