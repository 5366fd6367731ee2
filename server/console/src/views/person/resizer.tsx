import { signal } from "@preact/signals";
import { preference, setPreference } from "../../preferences.ts";
import { t } from "../../texts.ts";

const USUAL = 480;
const MIN = 360;
const MAX = 880;
const STEP = 24;

/** The width of the panel of a person in pixels. */
export const panelWidth = signal(limited(Number(preference("panel")) || USUAL));

function limited(width: number): number {
  return Math.round(Math.max(MIN, Math.min(width, MAX)));
}

function resize(width: number): void {
  panelWidth.value = limited(width);
  setPreference("panel", panelWidth.value === USUAL ? "" : String(panelWidth.value));
}

/** The edge of the panel, which is moved with a pointer or with arrow keys. */
export function Resizer() {
  return (
    <div
      class="resizer"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={t("person.width")}
      aria-valuenow={panelWidth.value}
      aria-valuemin={MIN}
      aria-valuemax={MAX}
      title={t("person.width")}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) resize(innerWidth - event.clientX);
      }}
      onDblClick={() => resize(USUAL)}
      onKeyDown={(event) => {
        const width = panelWidth.value;
        const to = { ArrowLeft: width + STEP, ArrowRight: width - STEP, Home: MIN, End: MAX }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        resize(to);
      }}
    />
  );
}
