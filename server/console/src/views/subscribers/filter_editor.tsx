import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../../components/icon.tsx";
import { type Option, useListbox } from "../../components/listbox.tsx";
import { place } from "../../components/menu.tsx";
import { useDebounced } from "../../debounced.ts";
import { folded, t } from "../../texts.ts";
import { fieldTitle, operatorTitle, valueTitle } from "./condition_words.ts";
import { type Condition, type FilterField, operatorsOf, type Type, written } from "./conditions.ts";
import { useSuggestions } from "./suggestions.ts";

/** The types whose values are chosen from a list. */
const CHOSEN: readonly Type[] = ["status", "tags", "boolean"];

/** Chooses a field, an operator and a value, next to the button that opened it. */
export function FilterEditor({
  fields,
  condition,
  anchor,
  onApply,
  onCancel,
  onClose,
}: {
  fields: readonly FilterField[];
  /** The condition that is changed; a new one if it is absent. */
  condition: Condition | null;
  anchor: HTMLElement | null;
  /** Shows the list with a condition; it is called again while a value is typed. */
  onApply: (part: string) => void;
  /** Shows the list as it was before. */
  onCancel: () => void;
  onClose: () => void;
}) {
  const popover = useRef<HTMLDivElement>(null);
  const name = useSignal(condition?.field ?? "");
  const field = fields.find((each) => each.name === name.value);
  useLayoutEffect(() => {
    popover.current?.showPopover();
  }, []);
  useLayoutEffect(() => {
    if (anchor && popover.current) place(anchor, popover.current);
    popover.current?.querySelector<HTMLElement>(".value, input")?.focus();
  }, [name.value]);
  return (
    <div
      ref={popover}
      popover="auto"
      class="menu filter-editor"
      role="dialog"
      aria-label={t("filter.add")}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        // The list has its own Escape.
        event.stopPropagation();
        popover.current?.hidePopover();
        onCancel();
      }}
      onToggle={(event) => event.newState === "closed" && onClose()}
    >
      {field ? (
        <ValueStep
          field={field}
          condition={condition?.field === field.name ? condition : null}
          onBack={() => {
            onCancel();
            name.value = "";
          }}
          onType={(part) => popover.current?.matches(":popover-open") && (part ? onApply(part) : onCancel())}
          onApply={(part) => {
            onApply(part);
            popover.current?.hidePopover();
          }}
        />
      ) : (
        <FieldStep fields={fields} onChoose={(chosen) => (name.value = chosen.name)} />
      )}
    </div>
  );
}

function FieldStep({ fields, onChoose }: { fields: readonly FilterField[]; onChoose: (field: FilterField) => void }) {
  const text = useSignal("");
  const wanted = folded(text.value.trim());
  const options: Option[] = fields
    .filter((field) => folded(`${fieldTitle(field)} ${field.name}`).includes(wanted))
    .map((field) => ({
      key: field.name,
      text: field.label ? <bdi>{field.label}</bdi> : fieldTitle(field),
      run: () => onChoose(field),
    }));
  const listbox = useListbox(options, text.value, { label: t("filter.field") });
  return (
    <>
      <input
        {...listbox.input}
        aria-label={t("filter.field")}
        placeholder={t("filter.field")}
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
        onKeyDown={listbox.onKeyDown}
      />
      {listbox.list || <p class="hint">{t("filter.noField")}</p>}
    </>
  );
}

function ValueStep({
  field,
  condition,
  onBack,
  onType,
  onApply,
}: {
  field: FilterField;
  condition: Condition | null;
  onBack: () => void;
  /** A pause in typing. Without a valid value, `part` is empty. */
  onType: (part: string) => void;
  onApply: (part: string) => void;
}) {
  const operators = operatorsOf(field.type);
  const name = useSignal(condition?.operator.name ?? operators[0]?.name);
  const operator = operators.find((each) => each.name === name.value) ?? operators[0];
  const value = useSignal(condition?.value ?? (operator?.form === "days" ? "30" : ""));
  const hasList = operator?.form === "plain" && ["status", "tags", "boolean", "text"].includes(field.type);
  const found = useSuggestions(hasList ? field : undefined, value.value === condition?.value ? "" : value.value);

  /** Returns the condition; empty without a value, and if its type needs one of the list. */
  function part(chosen: string, chosenTypes: readonly Type[]): string {
    if (!operator || (!chosen && operator.form !== "any")) return "";
    if (operator.form === "plain" && chosenTypes.includes(field.type) && !found.includes(chosen)) return "";
    return written({ field: field.name, operator, value: chosen }, field.type);
  }

  function apply(chosen = value.value): void {
    const whole = part(chosen, ["status", "boolean"]);
    if (whole) onApply(whole);
  }

  // The beginning of a tag is not the tag that is meant.
  const typed = part(value.value, CHOSEN);
  const rested = useDebounced(typed);
  // The value that the editor began with is applied already.
  const isChanged = useRef(false);
  useLayoutEffect(() => {
    if (isChanged.current) onType(rested);
  }, [rested]);

  const options: Option[] = hasList
    ? found.map((each) => ({ key: each, text: <bdi>{valueTitle(field, each)}</bdi>, run: () => apply(each) }))
    : [];
  const listbox = useListbox(options, value.value, { label: t("filter.value"), startsActive: CHOSEN.includes(field.type) });
  const isNumber = operator?.form === "days" || ["count", "number"].includes(field.type);
  const isDate = !isNumber && field.type === "date" && !/^.{11}/.test(value.value);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <div class="heading">
        <button type="button" class="plain" aria-label={t("filter.back")} onClick={onBack}>
          <Icon name="left" />
        </button>
        <bdi class="cut">{fieldTitle(field)}</bdi>
        <select
          aria-label={t("filter.operator")}
          value={operator?.name}
          onChange={(event) => {
            isChanged.current = true;
            const before = operator?.form;
            name.value = event.currentTarget.value as Condition["operator"]["name"];
            const after = operators.find((each) => each.name === name.value)?.form;
            if (before !== after && (before === "days" || after === "days")) value.value = after === "days" ? "30" : "";
          }}
        >
          {operators.map((each) => (
            <option key={each.name} value={each.name}>
              {operatorTitle(each.name, field)}
            </option>
          ))}
        </select>
      </div>
      {operator?.form !== "any" && (
        <input
          {...(hasList ? listbox.input : {})}
          key={isDate ? "date" : "text"}
          class="value"
          // The types of Preact want one type of input per element.
          type={(isNumber ? "number" : isDate ? "date" : "text") as "text"}
          step={isNumber && operator?.form !== "days" && field.type === "number" ? "any" : undefined}
          min={operator?.form === "days" ? 1 : undefined}
          required
          dir={isNumber || isDate ? undefined : "auto"}
          autocomplete="off"
          spellcheck={false}
          maxLength={1000}
          aria-label={t("filter.value")}
          placeholder={t("filter.value")}
          value={value.value}
          onInput={(event) => {
            isChanged.current = true;
            value.value = event.currentTarget.value;
          }}
          onKeyDown={hasList ? listbox.onKeyDown : undefined}
        />
      )}
      {listbox.list}
      <button class="main">{t("filter.apply")}</button>
    </form>
  );
}
