import { Icon } from "../../components/icon.tsx";
import { Menu } from "../../components/menu.tsx";
import { copy } from "../../copying.ts";
import { href } from "../../router.ts";
import { canWrite } from "../../session.ts";
import { t } from "../../texts.ts";
import { copyCurl, copyLater } from "./copy.ts";
import type { DialogName } from "./person.tsx";
import type { PersonData } from "./person_data.ts";

/** Everything else that can be done with a person. */
export function PersonMenu({
  data,
  email,
  onDialog,
}: {
  data: PersonData;
  email: string;
  onDialog: (name: DialogName) => void;
}) {
  const subscriber = data.subscriber.value;

  return (
    <Menu class="plain more" title={t("person.more")} label={<Icon name="more" />}>
      <button type="button" data-key="c" onClick={() => void copy(email)}>
        {t("keys.copyAddress")}
      </button>
      <button type="button" data-key="y" onClick={() => copyCurl(subscriber?.id ?? data.id)}>
        {t("keys.copyCurl")}
      </button>
      {subscriber && canWrite.value && (
        <>
          {subscriber.status === "UNCONFIRMED" && (
            <button type="button" onClick={() => void copyLater(() => data.link("CONFIRM"))}>
              {t("person.copyConfirm")}
            </button>
          )}
          <button type="button" onClick={() => void copyLater(() => data.link("UNSUBSCRIBE"))}>
            {t("person.copyUnsubscribe")}
          </button>
        </>
      )}
      {subscriber && (
        <>
          <a data-key="p" href={href(`/subscribers/${subscriber.id}/data`)}>
            {t("person.data")}
          </a>
          <a data-key="r" href={href(`/subscribers/${subscriber.id}/consent`)}>
            {t("consent.title")}
          </a>
        </>
      )}
      {subscriber && canWrite.value && (
        <>
          <hr />
          <button type="button" data-key="d" onClick={() => onDialog("delete")}>
            {t("delete.button")}…
          </button>
          <button type="button" data-key="e" class="danger" onClick={() => onDialog("erase")}>
            {t("erase.button")}…
          </button>
        </>
      )}
    </Menu>
  );
}
