import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const entities = fileURLToPath(new URL("node_modules/decode-named-character-reference/index.js", import.meta.url));

// The policy of the pages allows scripts and styles of their own address alone, so that nothing is put into the page.
export default defineConfig({
  base: "/studio/",
  plugins: [react()],
  // For browsers the package has a way by `innerHTML`, which the policy of the pages refuses: this is its other way.
  resolve: { alias: { "decode-named-character-reference": entities } },
  build: {
    outDir: process.env.ACTUM_STUDIO_OUT ?? "../src/actum_studio/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    license: { fileName: "licenses.md" }, // of the parts, in the package beside the pages
    chunkSizeWarningLimit: 700,
  },
});
