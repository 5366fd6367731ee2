import { Choices } from "../../components/form_dialog.tsx";
import { named, t } from "../../texts.ts";

/** A scope as a word, which its title explains. */
export function Scope({ scope }: { scope: string }) {
  return <span title={named("scopeMeaning", scope)}>{named("scope", scope)}</span>;
}

/** The choice of a scope, each with what it permits. */
export function ScopeChoices<Name extends string>({
  scopes,
  value,
  onChoose,
}: {
  scopes: readonly Name[];
  value: Name;
  onChoose: (scope: Name) => void;
}) {
  const choices = scopes.map((scope) => ({
    value: scope,
    text: named("scope", scope),
    hint: named("scopeMeaning", scope),
  }));
  return (
    <Choices
      legend={t("scope.title")}
      value={value}
      choices={choices}
      onChoose={(scope) => onChoose(scope as Name)}
    />
  );
}
