import { useSignal } from "@preact/signals";
import { call } from "../api/client.ts";
import { AddPerson } from "../components/add_person.tsx";
import { Icon } from "../components/icon.tsx";
import { useLoaded } from "../load.ts";
import { canWrite, session } from "../session.ts";
import { t } from "../texts.ts";
import { Growth, useDays } from "./home/chart.tsx";
import { FirstSteps } from "./home/first_steps.tsx";
import { Numbers } from "./home/numbers.tsx";
import { LastOperations } from "./home/operations.tsx";
import { LargestSegments } from "./home/segments.tsx";
import { FailingWebhooks } from "./home/webhooks.tsx";

/** How the list is doing; for an account without people, how to begin. */
export function Home() {
  const adds = useSignal(false);
  const totals = useLoaded((signal) => call("GET /api/statistics", { signal }));
  const days = useDays();
  function reload(): void {
    totals.reload();
    days.reload();
  }
  const account = session.value?.account;
  const isEmpty = totals.data?.total === 0;
  return (
    <div class="page">
      <header class="page-head">
        <h1>
          <bdi dir="auto">{account?.displayName || account?.email}</bdi>
        </h1>
        {canWrite.value && !isEmpty && (
          <button type="button" onClick={() => (adds.value = true)}>
            <Icon name="plus" />
            {t("addPerson.title")}
          </button>
        )}
      </header>
      <Numbers of={totals} />
      {isEmpty ? (
        <FirstSteps onAdd={() => (adds.value = true)} />
      ) : (
        // Whether there are people is not known before, unless reading it failed.
        (totals.data || totals.error) && (
          <>
            <FailingWebhooks />
            <Growth of={days} />
            <div class="columns-2">
              <LargestSegments />
              <LastOperations onEnd={reload} />
            </div>
          </>
        )
      )}
      {adds.value && <AddPerson onClose={() => (adds.value = false)} onAdded={reload} />}
    </div>
  );
}
