import type { ComponentChildren } from "preact";
import { href } from "../router.ts";
import { Icon } from "./icon.tsx";

/** A link to the view that lists what this one shows. */
export function Back({ to, children }: { to: string; children: ComponentChildren }) {
  return (
    <p class="back">
      <a href={href(to)}>
        <Icon name="left" />
        {children}
      </a>
    </p>
  );
}
