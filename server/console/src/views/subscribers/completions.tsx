import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";
import type { Option } from "../../components/listbox.tsx";
import { folded } from "../../texts.ts";
import { completionOf } from "./completion.ts";
import { fieldTitle, operatorTitle, valueTitle } from "./condition_words.ts";
import { type FilterField, operatorsOf, quoted, written } from "./conditions.ts";
import { useSuggestions } from "./suggestions.ts";

/** What can follow the text before the cursor of the search box. It is shown after typing. */
export function useCompletions(
  text: Signal<string>,
  input: RefObject<HTMLInputElement | null>,
  fields: readonly FilterField[],
): { options: Option[]; isOpen: boolean; open: () => void; close: () => void } {
  const end = useSignal(-1);
  const moved = useSignal(-1);
  const before = text.value.slice(0, Math.max(0, end.value));
  const completion = end.value < 0 ? null : completionOf(before, fields);
  const field = completion && "field" in completion ? fields.find((each) => each.name === completion.field) : undefined;
  const isValue = completion?.kind === "value";
  const values = useSuggestions(isValue ? field : undefined, completion?.text ?? "");

  function insert(added: string): void {
    const start = completion?.start ?? 0;
    const rest = text.value.slice(before.length).replace(isValue ? /^[^\s()"]*"?/ : /^[\w.]*/, "");
    text.value = text.value.slice(0, start) + added + rest;
    end.value = start + added.length;
    moved.value = end.value;
  }
  useLayoutEffect(() => {
    if (moved.value < 0) return;
    input.current?.setSelectionRange(moved.value, moved.value);
    moved.value = -1;
  }, [moved.value]);

  function options(): Option[] {
    if (!completion) return [];
    if (completion.kind === "and") {
      return ["AND", "OR"].map((word) => ({ key: word, text: word, run: () => insert(`${word} `) }));
    }
    if (completion.kind === "field") {
      const wanted = folded(completion.text);
      return fields
        .filter(({ name, label }) => folded(`${name} ${label ?? ""}`).includes(wanted))
        .slice(0, 12)
        .map((each) => ({
          key: each.name,
          text: <code>{each.name}</code>,
          hint: <bdi>{fieldTitle(each)}</bdi>,
          run: () => insert(each.type === "tags" ? `${each.name}:` : `${each.name} `),
        }));
    }
    if (!field) return [];
    if (completion.kind === "operator") {
      return operatorsOf(field.type)
        .filter((each) => !each.isNegated)
        .map((operator) => {
          const comparison = written({ field: field.name, operator, value: operator.form === "days" ? "30" : "" }, field.type);
          const sign = comparison.slice(field.name.length).trim().replace(/^(\S+) ?""$/, "$1 ");
          return { key: operator.name, text: <code>{sign}</code>, hint: operatorTitle(operator.name, field), run: () => insert(sign) };
        });
    }
    return values.map((each) => {
      const value = field.type === "text" || field.type === "tags" ? quoted(each) : each;
      return { key: each, text: <code dir="auto">{value}</code>, hint: valueTitle(field, each), run: () => insert(`${value} `) };
    });
  }

  return {
    options: options(),
    isOpen: end.value >= 0,
    open: () => (end.value = input.current?.selectionStart ?? -1),
    close: () => (end.value = -1),
  };
}
