import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { CustomField, Subscriber } from "../../api/types.ts";
import { Icon } from "../../components/icon.tsx";
import { StatusLabel } from "../../components/status.tsx";
import { errorText, t } from "../../texts.ts";

/** A person in a panel, by identifier or address. */
export function Person({
  id,
  onClose,
}: {
  id: string;
  fields: CustomField[];
  onClose: () => void;
  onChange: (subscriber: Subscriber) => void;
  onGone: () => void;
}) {
  const person = useSignal<Subscriber | null>(null);
  const error = useSignal<unknown>(null);
  useEffect(() => {
    call("GET /api/subscribers/{id}", { path: { id } }).then(
      (reply) => (person.value = reply.subscriber),
      (problem) => (error.value = problem),
    );
  }, [id]);
  return (
    <aside class="panel" aria-label={t("person.title")}>
      <button type="button" class="plain" aria-label={t("close")} onClick={onClose}>
        <Icon name="close" />
      </button>
      {error.value ? <p role="alert">{errorText(error.value)}</p> : null}
      {person.value && (
        <>
          <h2>
            <bdi dir="auto">{person.value.email}</bdi>
          </h2>
          <StatusLabel status={person.value.status} />
        </>
      )}
    </aside>
  );
}
