import type { ComponentChildren } from "preact";
import { href } from "../../router.ts";
import { t } from "../../texts.ts";
import type { PersonData } from "./person_data.ts";

/** The file of the import that made a change, if it is still known. */
export function importName(data: PersonData, operationId: string | undefined): ComponentChildren {
  const found = operationId ? data.imports.value.get(operationId) : undefined;
  if (!found?.id) return t("import.aFile");
  if (!found.name) return <a href={href(`/activity/${operationId}`)}>{t("import.aFile")}</a>;
  return (
    <a href={href(`/import/${found.id}`)}>
      <bdi dir="auto">{found.name}</bdi>
    </a>
  );
}
