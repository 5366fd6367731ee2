import { percent } from "../texts.ts";
import { uploads } from "../views/import/upload.ts";

/** Percentage of the uploads that has arrived; nothing without an upload. */
export function UploadShare() {
  const sum = (of: "sent" | "size") => uploads.value.reduce((total, upload) => total + upload[of], 0);
  if (!uploads.value.length) return null;
  return <small>{percent(Math.floor((100 * sum("sent")) / sum("size")) / 100)}</small>;
}
