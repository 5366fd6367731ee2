declare module "*.css";
declare module "*.json?keys" {
  const keys: string[];
  export default keys;
}
declare module "*.json?texts" {
  const texts: string[];
  export default texts;
}
