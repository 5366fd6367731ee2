// The views that are shown less often. They are one script, which is loaded after the first view.

export { Activity } from "./activity.tsx";
export { Fields } from "./fields.tsx";
export { Import } from "./import.tsx";
export { ConsentRecord, PersonalData } from "./records.tsx";
export { Settings } from "./settings.tsx";
export { Suppressions } from "./suppressions.tsx";
export { Tags } from "./tags.tsx";
export { Webhooks } from "./webhooks.tsx";
