import { notify } from "../announce.ts";
import { t } from "../texts.ts";
import { Icon } from "./icon.tsx";

/** A button that copies a text; its name states which. */
export function CopyButton({ text, title }: { text: string; title: string }) {
  return (
    <button
      type="button"
      class="plain"
      aria-label={title}
      title={title}
      onClick={() => void navigator.clipboard.writeText(text).then(() => notify(t("copied")))}
    >
      <Icon name="copy" />
    </button>
  );
}
