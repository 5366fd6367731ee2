import type { ComponentChildren } from "preact";
import { href, lastShown } from "../router.ts";
import { Icon } from "./icon.tsx";

/** A link to the view that lists what this one shows, with the filters that it had. */
export function Back({ to, children }: { to: string; children: ComponentChildren }) {
  return (
    <p class="back">
      <a href={href(lastShown(to))}>
        <Icon name="left" />
        {children}
      </a>
    </p>
  );
}
