import type { ComponentChildren } from "preact";

/** A fact in a list of facts. */
export function Fact({ title, children }: { title: ComponentChildren; children?: ComponentChildren }) {
  return (
    <>
      <dt>{title}</dt>
      <dd>{children || "–"}</dd>
    </>
  );
}
