import { copy } from "../copying.ts";
import { Icon } from "./icon.tsx";

/** A button that copies a text; its name states which. */
export function CopyButton({ text, title }: { text: string; title: string }) {
  return (
    <button type="button" class="plain" aria-label={title} title={title} onClick={() => void copy(text)}>
      <Icon name="copy" />
    </button>
  );
}
