/** A required text of a form, which `textOf` returns. */
export function TextField({ label, name, max, value = "" }: { label: string; name: string; max: number; value?: string | undefined }) {
  return (
    <label class="field">
      {label}
      <input name={name} required maxLength={max} dir="auto" autocomplete="off" defaultValue={value} />
    </label>
  );
}
