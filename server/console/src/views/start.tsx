import { session } from "../session.ts";
import { parts } from "../texts.ts";

/** The first view: who is signed in. */
export function Start() {
  const current = session.value;
  if (!current) return null;
  const account = current.account.displayName || current.account.email;
  return (
    <div class="page">
      <h1>
        <bdi>{account}</bdi>
      </h1>
      <p>{parts("start.text", { name: <bdi>{current.session?.name}</bdi> })}</p>
    </div>
  );
}
