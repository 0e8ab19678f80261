import { createRoot } from "react-dom/client";

import { App } from "./app";
import { follow } from "./core/language";
import "./style.css";

follow();
const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
