// Ways to open a file: a button, and dropping it anywhere in the console.

import { signal, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { notify } from "../../announce.ts";
import { Icon } from "../../components/icon.tsx";
import { go } from "../../router.ts";
import { canWrite } from "../../session.ts";
import { t } from "../../texts.ts";
import { begin } from "./upload.ts";

/** The file that could not be imported last, and why. */
export const rejected = signal<{ file: File; error: unknown } | null>(null);

/** Begins to upload a file, and shows its import. */
export async function openFile(file: File): Promise<void> {
  rejected.value = null;
  try {
    go(`/import/${await begin(file)}`);
  } catch (error) {
    rejected.value = { file, error };
    go("/import");
  }
}

/** A button with which a file is chosen. */
export function FileButton({
  onFile,
  isBusy = false,
  class: classes = "",
}: {
  onFile: (file: File) => void;
  isBusy?: boolean;
  class?: string;
}) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={t("import.choose")}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          // The same file can be chosen again.
          event.currentTarget.value = "";
          if (file) onFile(file);
        }}
      />
      <button type="button" class={classes} disabled={isBusy} onClick={() => input.current?.click()}>
        {t("import.choose")}
      </button>
    </>
  );
}

/** Accepts files that are dropped anywhere, and shows that they can be. */
export function DropTarget() {
  const isOver = useSignal(false);
  useLayoutEffect(() => {
    let depth = 0;
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files");
    const enter = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      depth += 1;
      isOver.value = true;
    };
    const leave = (event: DragEvent) => {
      if (hasFiles(event) && (depth -= 1) <= 0) end();
    };
    const end = () => {
      depth = 0;
      isOver.value = false;
    };
    const over = (event: DragEvent) => {
      if (hasFiles(event)) event.preventDefault();
    };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      // Otherwise the browser shows the file instead of the console.
      event.preventDefault();
      end();
      const [file, ...others] = event.dataTransfer?.files ?? [];
      if (!file) return;
      if (!canWrite.value) notify(t("import.readOnly"));
      else if (others.length) notify(t("import.oneFile"));
      else void openFile(file);
    };
    const listeners = { dragenter: enter, dragleave: leave, dragover: over, drop, dragend: end } as const;
    for (const [name, listener] of Object.entries(listeners)) {
      document.addEventListener(name, listener as EventListener);
    }
    return () => {
      for (const [name, listener] of Object.entries(listeners)) {
        document.removeEventListener(name, listener as EventListener);
      }
    };
  }, []);
  if (!isOver.value) return null;
  return (
    <div class="drop-over">
      <p>
        <Icon name={canWrite.value ? "up" : "stop"} />
        {t(canWrite.value ? "import.dropNow" : "import.readOnly")}
      </p>
    </div>
  );
}
