import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The policy of the pages allows scripts and styles of their own address alone, so that nothing is put into the page.
export default defineConfig({
  base: "/studio/",
  plugins: [react()],
  build: {
    outDir: process.env.ACTUM_STUDIO_OUT ?? "../src/actum_studio/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    chunkSizeWarningLimit: 700,
  },
});
