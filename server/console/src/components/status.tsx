import type { Subscriber } from "../api/types.ts";
import { named } from "../texts.ts";
import { Icon, type IconName } from "./icon.tsx";

const ICONS: Record<Subscriber["status"], IconName> = {
  CONFIRMED: "check",
  UNCONFIRMED: "clock",
  UNSUBSCRIBED: "stop",
  BOUNCED: "bounce",
  COMPLAINED: "flag",
};

/** A status as a color, a shape and a word, which its title explains. */
export function StatusLabel({ status }: { status: Subscriber["status"] }) {
  return (
    <span class={`status ${status.toLowerCase()}`} title={named("statusMeaning", status)}>
      <Icon name={ICONS[status]} />
      {named("status", status)}
    </span>
  );
}
