// Parse Mermaid files with Mermaid itself: node mermaid_parse.mjs NODE_MODULES FILE... ; 1 when one cannot be parsed.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [root, ...files] = process.argv.slice(2);
const { JSDOM } = await import(pathToFileURL(root + "/jsdom/lib/api.js"));
globalThis.window = new JSDOM("").window;
globalThis.document = globalThis.window.document;
const { default: mermaid } = await import(pathToFileURL(root + "/mermaid/dist/mermaid.core.mjs"));
for (const file of files) {
  try {
    console.log((await mermaid.parse(readFileSync(file, "utf8"))).diagramType);
  } catch (error) {
    console.log(`${file}: ${error}`);
    process.exitCode = 1;
  }
}
