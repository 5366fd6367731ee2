import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { announce, linesOf } from "../announce.ts";
import type { Operation } from "../api/types.ts";
import { track } from "../operations.ts";
import { number, plural, t } from "../texts.ts";
import { Dialog } from "./dialog.tsx";
import { Problem } from "./form_dialog.tsx";
import { failures } from "./operation_words.ts";
import { Plan, type Start } from "./plan.ts";

/** A pause in typing after which the numbers are counted. */
const PAUSE = 400;
/** From this number, it has to be typed. */
const TYPED_FROM = 100;

export interface PlanDialogProps {
  /** The title, or a function that returns it, as `verb`. */
  title: ComponentChildren | ((count: number, dryRun: Operation | null) => ComponentChildren);
  /** What the button does, with the number of people and, once there is one, the dry run. */
  verb: (count: number, dryRun: Operation | null) => string;
  /** What the other button does, which closes the dialog. */
  keep?: string;
  /** Whether it cannot be undone; a function that returns it for the dry run, once there is one. */
  danger?: boolean | ((dryRun: Operation | null) => boolean);
  /** What is planned; empty while something is missing. The numbers are counted again if it changes. */
  plan: string;
  /** Whether to count at once, after a pause in typing, or when Enter is pressed. */
  counts: "now" | "pause" | "enter";
  start: Start;
  /** The number of people that the person saw. */
  size: number;
  /** Whether that number is exactly that of the people whom the server selects. */
  isExact?: boolean;
  /** What the dry run found, in words. */
  numbers: (dryRun: Operation) => ComponentChildren;
  /** Whether something else is missing. */
  isBlocked?: boolean;
  /** Whether the number has to be typed if it is large. */
  mustType?: boolean;
  children?: ComponentChildren;
  onStart?: (operation: Operation) => void;
  onClose: () => void;
}

/** A dialog for a change of many people, which shows the numbers of a dry run before it acts. */
export function PlanDialog(props: PlanDialogProps) {
  const { plan: key, counts, onClose } = props;
  const latest = useRef(props);
  latest.current = props;
  const plan = useSignal<Plan | null>(null);
  const main = useRef<HTMLButtonElement>(null);
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const typed = useSignal("");
  // The plan for which Enter was pressed: the button gets the focus when its numbers are shown.
  const awaited = useRef("");

  function count(): void {
    const { plan: wanted, size, isExact = true } = latest.current;
    plan.value = new Plan(wanted, (options) => latest.current.start(options), isExact ? size : undefined);
  }

  useLayoutEffect(() => {
    error.value = undefined;
    if (!key || counts === "enter") return;
    const timer = setTimeout(() => {
      // Enter can have counted it already.
      if (plan.value?.key !== key) count();
    }, counts === "pause" ? PAUSE : 0);
    return () => clearTimeout(timer);
  }, [key, counts]);
  useLayoutEffect(() => {
    const current = plan.value;
    return () => current?.abandon();
  }, [plan.value]);

  const current = plan.value?.key === key ? plan.value : null;
  const counted = current?.counted ?? null;
  const isCounting = counts === "now" && !counted && !hasFailed(current);
  const isDanger = typeof props.danger === "function" ? props.danger(counted) : props.danger;
  const hasEffect = counted !== null && (counted.wouldChange ?? 0) > 0;
  const total = counted ? (hasEffect ? counted.total : 0) : props.size;
  const title = typeof props.title === "function" ? props.title(total, counted) : props.title;
  const mustType = props.mustType && total >= TYPED_FROM;
  const isBlocked = props.isBlocked || (mustType && typed.value.replace(/\D/g, "") !== String(total));
  useLayoutEffect(() => {
    if (!counted) return;
    // The numbers describe the button, so they are read with it.
    if (awaited.current === key && hasEffect && !isBlocked) main.current?.focus();
    else announce(linesOf(document.getElementById("plan")));
    awaited.current = "";
  }, [counted]);

  async function submit(): Promise<void> {
    if (!key || isBusy.value) return;
    if (!current || hasFailed(current)) {
      awaited.current = key;
      return count();
    }
    if (!counted || !hasEffect || isBlocked) {
      awaited.current = counted ? "" : key;
      return;
    }
    isBusy.value = true;
    error.value = undefined;
    try {
      const started = await current.run();
      if (started) {
        track(started);
        props.onStart?.(started);
        onClose();
      } else awaited.current = key;
    } catch (problem) {
      error.value = problem;
    }
    isBusy.value = false;
  }

  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {props.children}
        {current && <Numbers plan={current} words={props.numbers} />}
        {mustType && (
          <label class="field">
            {t("batch.typeNumber", { count: String(total) })}
            <input
              autofocus
              inputMode="numeric"
              autocomplete="off"
              value={typed.value}
              onInput={(event) => (typed.value = event.currentTarget.value)}
            />
          </label>
        )}
        <Problem error={error.value} />
        <div class="actions">
          <button type="button" onClick={onClose}>
            {props.keep ?? t("cancel")}
          </button>
          <button
            ref={main}
            class={isDanger ? "main danger" : "main"}
            aria-describedby={counted ? "plan" : undefined}
            disabled={!key || isBusy.value || isCounting || (counted !== null && (!hasEffect || isBlocked))}
          >
            {counted || isCounting ? props.verb(total, counted) : t("batch.count")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function hasFailed(plan: Plan | null): boolean {
  const dryRun = plan?.dryRun.value;
  return plan?.error.value !== undefined || Boolean(dryRun?.done && dryRun.state !== "SUCCEEDED");
}

/** The numbers of the dry run, or its progress. */
function Numbers({ plan, words }: { plan: Plan; words: (dryRun: Operation) => ComponentChildren }) {
  const dryRun = plan.dryRun.value;
  const before = plan.before.value;
  if (plan.error.value !== undefined) return <Problem error={plan.error.value} />;
  if (hasFailed(plan)) {
    return (
      <p class="error" role="alert">
        {t("batch.notCounted")}
      </p>
    );
  }
  if (!dryRun || !dryRun.done) {
    return (
      <p class="counting">
        <progress value={dryRun?.processed ?? 0} max={dryRun?.total || 1} aria-label={t("batch.counting")} />
        <small>{t("batch.counting")}</small>
      </p>
    );
  }
  return (
    <div id="plan" class="numbers">
      {before !== null && (
        <p class="changed" role="alert">
          {plural("batch.selectionChanged", dryRun.total, { before: number(before) })}
        </p>
      )}
      {dryRun.wouldChange ? null : <p>{t("batch.nothing")}</p>}
      {words(dryRun)}
      {failures(dryRun).map((text) => (
        <p key={text}>{text}</p>
      ))}
    </div>
  );
}
