// Browsers start no Worker from a file on disk, and the search needs one. On a site that is opened from disk its script
// runs in a hidden frame instead, so that the search works there too and nothing is loaded from elsewhere.
if (location.protocol === "file:") {
  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.onload = () => {
        this.inner = frame.contentWindow;
        this.inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        this.waiting.forEach((data) => this.postMessage(data));
      };
      frame.srcdoc = `<script src="${new URL(url, location.href)}"></script>`;
      document.body.append(frame);
    }

    postMessage(data) {
      if (this.inner) this.inner.dispatchEvent(new MessageEvent("message", { data }));
      else this.waiting.push(data);
    }
  }
  window.Worker = window.IFrameWorker = IFrameWorker;
}
