/** A choice from a list of values with their texts, below its label. */
export function Select({
  label,
  value,
  choices,
  onChoose,
  class: classes = "field",
}: {
  label: string;
  value: string;
  choices: readonly (readonly [value: string, text: string])[];
  onChoose: (value: string) => void;
  class?: string;
}) {
  return (
    <label class={classes}>
      {label}
      <select value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        {choices.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
