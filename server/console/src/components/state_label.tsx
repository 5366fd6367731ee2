import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon.tsx";

/** A state as a color, a shape and a word. */
export function StateLabel({ icon, kind, children }: { icon: IconName; kind: string; children: ComponentChildren }) {
  return (
    <span class={`state ${kind}`}>
      <Icon name={icon} />
      {children}
    </span>
  );
}
